// One node of Socket.IO. Who says { receives: true } is in the room it names; what comes as "send" goes to the room of its sender as
// "message", on both nodes. With --durable each message is inserted into a table first. Its first line says where it is:
//   {"url":"ws://127.0.0.1:PORT"}
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { createAdapter as postgresAdapter } from "@socket.io/postgres-adapter";
import { createAdapter as redisAdapter } from "@socket.io/redis-streams-adapter";
import pg from "pg";
import { createClient } from "redis";
import { Server } from "socket.io";

const { values } = parseArgs({
  options: {
    database: { type: "string" },
    redis: { type: "string" },
    durable: { type: "boolean", default: false },
    // As many as a node of Switchboard has.
    connections: { type: "string", default: "16" },
  },
});

const pool = () => {
  const pool = new pg.Pool({ connectionString: values.database, max: Number(values.connections) });
  pool.on("error", (error) => process.stderr.write(`PostgreSQL: ${error.message}\n`));
  return pool;
};
const nobodyElse = (error) => {
  // Two nodes that make the same table at once.
  if (error.code !== "23505" && error.code !== "42P07") throw error;
};

let adapter;
if (values.redis !== undefined) {
  const client = createClient({ url: values.redis });
  client.on("error", (error) => process.stderr.write(`Redis: ${error.message}\n`));
  await client.connect();
  adapter = redisAdapter(client, { onlyPlaintext: true });
} else {
  const carrying = pool();
  await carrying
    .query(
      "CREATE TABLE IF NOT EXISTS socket_io_attachments (id bigserial UNIQUE, created_at timestamptz DEFAULT now(), payload bytea)",
    )
    .catch(nobodyElse);
  adapter = postgresAdapter(carrying);
}

let keep = async () => {};
if (values.durable) {
  const keeping = pool();
  await keeping
    .query(
      "CREATE TABLE IF NOT EXISTS messages (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), room text NOT NULL, body text NOT NULL)",
    )
    .catch(nobodyElse);
  const insert = { name: "keep", text: "INSERT INTO messages (room, body) VALUES ($1, $2)" };
  keep = (room, body) => keeping.query({ ...insert, values: [room, body] });
}

const http = createServer();
const io = new Server(http, { adapter, transports: ["websocket"], serveClient: false });
io.engine.on("connection", (raw) => {
  // As "Performance tuning" has it: the first request is not kept.
  raw.request = null;
});
io.on("connection", (socket) => {
  const { room, receives } = socket.handshake.auth;
  if (receives) socket.join(room);
  socket.on("send", async (body) => {
    try {
      await keep(room, body);
      io.to(room).emit("message", body);
    } catch (error) {
      process.stderr.write(`not kept: ${error.message}\n`);
    }
  });
});
http.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify({ url: `ws://127.0.0.1:${http.address().port}` })}\n`);
});
process.on("SIGTERM", () => process.exit(0));
