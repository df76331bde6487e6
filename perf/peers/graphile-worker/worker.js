// One worker process of graphile-worker whose only job does nothing. Tells what it does in lines of JSON:
//   {"ready":T}                        when it began to look for jobs, in microseconds since 1970
//   {"started":N,"waited":[...]}       jobs begun so far and, of those that say when they were queued since the line
//                                      before, for how many microseconds each waited
// Ends in order on SIGTERM.
import { EventEmitter } from "node:events";
import { parseArgs } from "node:util";
import { Logger, run, runMigrations } from "graphile-worker";

const { values } = parseArgs({
  options: {
    database: { type: "string" },
    "migrate-only": { type: "boolean", default: false },
    concurrency: { type: "string", default: "24" },
    connections: { type: "string", default: "25" },
    // Jobs fetched at once; -1 for none.
    queue: { type: "string", default: "500" },
    // Milliseconds for which completions are gathered; -1 for none.
    gather: { type: "string", default: "0" },
    // How often it looks without being woken, in milliseconds.
    poll: { type: "string", default: "2000" },
  },
});

const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const now = () => Math.round((performance.timeOrigin + performance.now()) * 1000);
const logger = new Logger(() => (level, message) => {
  if (level === "error" || level === "warning") process.stderr.write(`${message}\n`);
});

let [started, told, waited] = [0, 0, []];
const noop = (payload) => {
  started += 1;
  if (payload.at !== undefined) waited.push(now() - payload.at);
};

const preset = {
  worker: {
    connectionString: values.database,
    concurrentJobs: Number(values.concurrency),
    maxPoolSize: Number(values.connections),
    pollInterval: Number(values.poll),
    localQueue: { size: Number(values.queue) },
    completeJobBatchDelay: Number(values.gather),
    failJobBatchDelay: Number(values.gather),
    logger,
  },
};

if (values["migrate-only"]) {
  await runMigrations({ preset });
  process.exit(0);
}
const events = new EventEmitter();
events.setMaxListeners(0);
events.once("worker:getJob:start", () => tell({ ready: now() }));
const report = () => {
  if (started === told) return;
  tell({ started, waited });
  [told, waited] = [started, []];
};
const reporting = setInterval(report, 10);
const runner = await run({ preset: { worker: { ...preset.worker, events } }, taskList: { noop } });
await runner.promise;
clearInterval(reporting);
report();
