//! Any frame about runs, tool calls and autocomplete.

use super::*;

fn run() -> impl Strategy<Value = Run> {
    let change = prop_oneof![
        raw().prop_map(RunChange::Doc),
        (any::<u64>(), raw()).prop_map(|(from, ops)| RunChange::Patch { from, ops }),
    ];
    let ids = (uuid(), uuid(), uuid());
    (ids, any::<[u64; 2]>(), text(), option::of(text()), any::<bool>(), change).prop_map(
        |((run_id, room_id, agent_id), [epoch, version], status, reason, cancel_requested, change)| Run {
            run_id,
            room_id,
            agent_id,
            epoch,
            version,
            status,
            reason,
            cancel_requested,
            change,
        },
    )
}

fn tool_call() -> impl Strategy<Value = ToolCall> {
    (uuid(), uuid(), uuid(), text(), raw(), text()).prop_map(
        |(call_id, run_id, room_id, tool, args, deadline)| ToolCall {
            call_id,
            run_id,
            room_id,
            tool,
            args,
            deadline,
        },
    )
}

pub(super) fn server_frame() -> impl Strategy<Value = ServerFrame> {
    prop_oneof![
        run().prop_map(ServerFrame::Run),
        tool_call().prop_map(ServerFrame::ToolCall),
        (uuid(), option::of(text()))
            .prop_map(|(call_id, nonce)| ServerFrame::ToolCalled(ToolCalled { call_id, nonce })),
        (uuid(), uuid(), uuid(), text(), text()).prop_map(
            |(request_id, room_id, user_id, command, input)| {
                ServerFrame::Autocomplete(AutocompleteRequest {
                    request_id,
                    room_id,
                    user_id,
                    command,
                    input,
                })
            }
        ),
        // Not null, which is no array, and which JSON takes for a field that is not there.
        (uuid(), vec(raw(), 0..4), any::<bool>()).prop_map(|(request_id, choices, timed_out)| {
            let choices = serde_json::to_string(&choices).expect("JSON");
            let choices = RawJson::new(choices).expect("good JSON");
            ServerFrame::Choices(Choices { request_id, choices, timed_out })
        }),
    ]
}

fn call_tool() -> impl Strategy<Value = CallTool> {
    let timeout = option::of(text().prop_map(WireDuration));
    (uuid(), any::<u64>(), text(), raw(), uuid(), timeout, option::of(text())).prop_map(
        |(run_id, epoch, tool, args, user_id, timeout, nonce)| CallTool {
            run_id,
            epoch,
            tool,
            args,
            user_id,
            timeout,
            nonce,
        },
    )
}

fn run_frame() -> impl Strategy<Value = ClientFrame> {
    // As an optional field null is one that is not there.
    let ops = option::of(vec(raw(), 0..4).prop_map(|ops| {
        let ops = serde_json::to_string(&ops).expect("JSON");
        RawJson::new(ops).expect("good JSON")
    }));
    prop_oneof![
        uuid().prop_map(|run_id| ClientFrame::Watch(Watch { run_id })),
        uuid().prop_map(|run_id| ClientFrame::Unwatch(Unwatch { run_id })),
        uuid().prop_map(|run_id| ClientFrame::RunStart(RunStart { run_id })),
        (uuid(), any::<u64>(), raw()).prop_map(|(run_id, epoch, ops)| ClientFrame::RunPatch(RunPatch {
            run_id,
            epoch,
            ops
        })),
        (uuid(), any::<u64>(), text(), ops, option::of(text())).prop_map(
            |(run_id, epoch, status, ops, error)| {
                ClientFrame::RunFinish(RunFinish { run_id, epoch, status, ops, error })
            }
        ),
    ]
}

pub(super) fn client_frame() -> impl Strategy<Value = ClientFrame> {
    let outcome = prop_oneof![raw().prop_map(ToolOutcome::Result), text().prop_map(ToolOutcome::Error)];
    prop_oneof![
        run_frame(),
        call_tool().prop_map(ClientFrame::ToolCall),
        (uuid(), outcome)
            .prop_map(|(call_id, outcome)| ClientFrame::ToolResult(ToolResult { call_id, outcome })),
        (uuid(), uuid(), uuid(), text(), text()).prop_map(
            |(request_id, agent_id, room_id, command, input)| {
                ClientFrame::Autocomplete(Autocomplete { request_id, agent_id, room_id, command, input })
            }
        ),
        (uuid(), raw()).prop_map(|(request_id, choices)| {
            ClientFrame::AutocompleteReply(AutocompleteReply { request_id, choices })
        }),
    ]
}
