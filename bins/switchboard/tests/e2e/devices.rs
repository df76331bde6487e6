//! One connection for each device, whichever node it is at.

use std::pin::pin;

use domain::DeviceKind;
use futures_util::future::{Either, select};
use protocol::Encoding;
use testkit::cluster::ClusterOptions;

use crate::sse::Sse;
use crate::wire::identify;
use crate::world::{World, in_both_worlds};

in_both_worlds!(
    two_devices_live_side_by_side_and_the_newer_connection_of_one_wins,
    of_two_that_identify_at_the_same_moment_exactly_one_survives,
    streams_of_events_and_sockets_of_one_device_replace_each_other,
);

const REPLACED: u16 = 4017;

async fn two_devices_live_side_by_side_and_the_newer_connection_of_one_wins(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut desk = world.connect(&sam, 1).await;
    let mut phone = world.connect_device(&sam, sam.new_device(DeviceKind::Mobile).await, 2).await;
    alex.says(room, "Soup?").await;
    assert_eq!(desk.event().await, phone.event().await);

    // On the other node, on the same one, and back.
    for gateway in [2, 2, 1, 2] {
        let mut newer = world.connect(&sam, gateway).await;
        assert_eq!(newer.ready().epoch, desk.ready().epoch + 1);
        assert_eq!(desk.closed().await, REPLACED);
        let said = alex.says(room, "Salad?").await;
        assert_eq!(newer.event().await.seq, said);
        assert_eq!(phone.event().await.seq, said);
        desk = newer;
    }
    // A device that is removed holds nothing any more, and nobody can identify as it.
    sam.at(&world, 1).remove_device(sam.device).await.expect("removed");
    assert_eq!(desk.closed().await, REPLACED);
    let mut refused = world.hello(&sam, 1, Encoding::Json).await;
    refused.say(&identify(sam.device)).await;
    assert_eq!(refused.error().await, "not_found");
    // Nor as somebody else's; with one's own it goes on.
    refused.say(&identify(alex.device)).await;
    assert_eq!(refused.error().await, "not_found");
    refused.identify(sam.new_device(DeviceKind::Web).await).await;
    let said = alex.says(room, "Cake?").await;
    assert_eq!(refused.event().await.seq, said);
    assert_eq!(phone.event().await.seq, said);
}

async fn of_two_that_identify_at_the_same_moment_exactly_one_survives(options: ClusterOptions) {
    // Nothing that is missed is found by the sweep in this test.
    let world = World::on(options.setting("relay.sweep_interval", "1h")).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    for _ in 0..50 {
        let mut one = world.hello(&sam, 1, Encoding::Json).await;
        let mut other = world.hello(&sam, 2, Encoding::Json).await;
        let frame = identify(sam.device);
        tokio::join!(one.say(&frame), other.say(&frame));
        let (code, loser, mut winner) = {
            let (code, one_lost) = match select(pin!(one.closed()), pin!(other.closed())).await {
                Either::Left((code, _)) => (code, true),
                Either::Right((code, _)) => (code, false),
            };
            if one_lost { (code, one, other) } else { (code, other, one) }
        };
        assert_eq!(code, REPLACED);
        // The winner may be on its way still; what is said once it is live it has.
        winner.until_ready().await;
        let epoch = winner.ready().epoch;
        assert!(loser.try_ready().is_none_or(|ready| ready.epoch < epoch), "the older one survived");
        let said = alex.says(room, "Soup?").await;
        assert_eq!(winner.event_of("message.created").await.seq, said);
        winner.ping().await;
    }
}

async fn streams_of_events_and_sockets_of_one_device_replace_each_other(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut stream = Sse::open(&sam.api, Some(sam.device), None).await;
    stream.until_live().await;
    // One without a device stands beside all others.
    let mut beside = Sse::open(&sam.at(&world, 1), None, None).await;
    beside.until_live().await;

    let mut socket = world.connect(&sam, 1).await;
    assert_eq!(stream.closed().await, u64::from(REPLACED));
    let mut stream = Sse::open(&sam.at(&world, 1), Some(sam.device), None).await;
    stream.until_live().await;
    assert_eq!(socket.closed().await, REPLACED);
    let mut newer = Sse::open(&sam.at(&world, 2), Some(sam.device), None).await;
    newer.until_live().await;
    assert_eq!(stream.closed().await, u64::from(REPLACED));
    let said = alex.says(room, "Soup?").await;
    assert_eq!(newer.event().await["seq"], said);
    assert_eq!(beside.event().await["seq"], said);
    drop(newer);

    for round in 0..20 {
        let mut socket = world.hello(&sam, 1 + round % 2, Encoding::Json).await;
        let api = sam.at(&world, 1 + round / 2 % 2);
        let frame = identify(sam.device);
        let (mut stream, ()) = tokio::join!(Sse::open(&api, Some(sam.device), None), socket.say(&frame));
        let (code, stream_won) = match select(pin!(stream.closed()), pin!(socket.closed())).await {
            Either::Left((code, _)) => (code, false),
            Either::Right((code, _)) => (u64::from(code), true),
        };
        assert_eq!(code, u64::from(REPLACED));
        if !stream_won {
            socket.until_ready().await;
        }
        let said = alex.says(room, "Soup?").await;
        if stream_won {
            assert_eq!(stream.event().await["seq"], said);
        } else {
            assert_eq!(socket.event_of("message.created").await.seq, said);
        }
        assert_eq!(beside.event().await["seq"], said);
    }
}
