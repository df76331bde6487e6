use proptest::prelude::*;

use super::*;

const CHANGES: [Change; 15] = [
    Change::Offer,
    Change::Start,
    Change::ToolCall,
    Change::ToolsDone,
    Change::Finish(FinishStatus::Succeeded),
    Change::Finish(FinishStatus::Failed),
    Change::Finish(FinishStatus::Cancelled),
    Change::HolderLost,
    Change::HolderLostForGood,
    Change::HandBack,
    Change::MaxRuntime,
    Change::QueueLimit,
    Change::Cancel,
    Change::CancelGrace,
    Change::AgentRevoked,
];

/// Every change in turn must be allowed; gives status and reason at the end.
fn through(changes: &[Change]) -> (RunStatus, Option<Reason>) {
    let end = changes.iter().fold(Standing::OFFERED, |standing, &change| {
        standing.after(change).unwrap_or_else(|| panic!("{change:?} after {standing:?}"))
    });
    (end.status, end.reason)
}

#[test]
fn names_are_read_back() {
    for &status in RunStatus::ALL {
        assert_eq!(status.as_str().parse(), Ok(status));
        assert_eq!(serde_json::to_string(&status).unwrap(), format!("{:?}", status.as_str()));
    }
    for &reason in Reason::ALL {
        assert_eq!(reason.as_str().parse(), Ok(reason));
    }
    for &finish in FinishStatus::ALL {
        assert_eq!(RunStatus::from(finish).as_str(), finish.as_str());
        assert!(RunStatus::from(finish).is_final());
    }
    assert_eq!("expired".parse::<FinishStatus>().expect_err("not a holder's").field, "status");
}

#[test]
fn an_ordinary_run() {
    use Change::{Finish, Start, ToolCall, ToolsDone};
    assert_eq!(through(&[Start]), (RunStatus::Running, None));
    assert_eq!(through(&[Start, ToolCall]), (RunStatus::Waiting, Some(Reason::ToolCall)));
    assert_eq!(through(&[Start, ToolCall, ToolCall, ToolsDone]), (RunStatus::Running, None));
    let all = [Start, ToolCall, ToolsDone, Finish(FinishStatus::Succeeded)];
    assert_eq!(through(&all), (RunStatus::Succeeded, None));
    assert_eq!(through(&[Start, ToolCall, Finish(FinishStatus::Failed)]), (RunStatus::Failed, None));
}

#[test]
fn a_lost_holder_is_tried_again_until_it_is_not() {
    use Change::{HandBack, HolderLost, HolderLostForGood, Start};
    assert_eq!(through(&[Start, HolderLost]), (RunStatus::Queued, Some(Reason::HolderLost)));
    assert_eq!(through(&[Start, HolderLost, Start]), (RunStatus::Running, None));
    assert_eq!(through(&[Start, HandBack]), (RunStatus::Queued, Some(Reason::HandedBack)));
    assert_eq!(through(&[Start, HolderLostForGood]), (RunStatus::Expired, Some(Reason::HolderLost)));
}

#[test]
fn what_was_asked_to_cancel_never_goes_on() {
    use Change::{Cancel, CancelGrace, Finish, HandBack, HolderLost, HolderLostForGood, Start, ToolCall};
    let cancelled = (RunStatus::Cancelled, Some(Reason::Cancelled));
    assert_eq!(through(&[Cancel]), cancelled);
    assert_eq!(through(&[Start, Cancel]), (RunStatus::Running, None));
    let late = Finish(FinishStatus::Succeeded);
    for end in [CancelGrace, HolderLost, HolderLostForGood, HandBack, late] {
        assert_eq!(through(&[Start, Cancel, end]), cancelled, "{end:?}");
        assert_eq!(through(&[Start, ToolCall, Cancel, end]), cancelled, "{end:?}");
    }
    let running = Standing::OFFERED.after(Start).unwrap();
    assert_eq!(running.after(CancelGrace), None, "nobody asked");
}

#[test]
fn a_busy_agent_is_offered_the_run_before_it_may_start_it() {
    let busy = Standing { reason: Some(Reason::AgentBusy), ..Standing::OFFERED };
    assert_eq!(busy.after(Change::Start), None);
    assert_eq!(busy.after(Change::Offer), Some(Standing::OFFERED));
    assert_eq!(Standing::OFFERED.after(Change::Offer), None, "offered once");
}

#[test]
fn only_a_plain_offer_is_shown_as_offline() {
    assert_eq!(Reason::Offered.while_offline(), Reason::AgentOffline);
    assert_eq!(Reason::AgentBusy.while_offline(), Reason::AgentBusy);
}

proptest! {
    #[test]
    fn every_way_keeps_to_the_drawing(
        ways in prop::collection::vec(prop::sample::select(CHANGES.to_vec()), 0..40)
    ) {
        let mut standing = Standing::OFFERED;
        for change in ways {
            let Some(next) = standing.after(change) else { continue };
            prop_assert!(!standing.status.is_final(), "{:?} after {:?}", change, standing);
            prop_assert!(!(standing.cancel_requested && next.status == RunStatus::Queued), "asked to cancel, queued");
            prop_assert!(
                matches!(next.status, RunStatus::Queued | RunStatus::Waiting | RunStatus::Expired) <= next.reason.is_some(),
                "no reason for {:?}", next
            );
            prop_assert!(!(next.status == RunStatus::Running && next.reason.is_some()));
            standing = next;
        }
    }
}
