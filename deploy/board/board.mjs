// bull-board for the queue of Evergrove's workers, at http://127.0.0.1:3000 (see docs/operations.md).
//
//   cd deploy/board && npm install
//   EVERGROVE_REDIS_PASSWORD=.. node board.mjs redis://127.0.0.1:6379 [QUEUE]
//   node board.mjs --check redis://127.0.0.1:6379 [QUEUE]     counts the jobs as BullMQ sees them, and ends
//
// There is no login: everyone who can reach the port can see the queue. It is read-only unless BOARD_WRITE=1.

import { readFileSync } from "node:fs";
import { Queue } from "bullmq";

const args = process.argv.slice(2);
const check = args[0] === "--check" && args.shift();
const url = new URL(args[0] ?? "redis://127.0.0.1:6379");
const ca = process.env.EVERGROVE_REDIS_CA;
const queue = new Queue(args[1] ?? "evergrove", {
  connection: {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || 6379),
    db: Number(url.pathname.slice(1) || 0),
    username: url.username || undefined,
    password: process.env.EVERGROVE_REDIS_PASSWORD || undefined,
    tls: url.protocol === "rediss:" ? { ca: ca ? readFileSync(ca) : undefined } : undefined,
  },
});

if (check) {
  const jobs = await queue.getJobs(["prioritized", "wait", "active", "delayed"], 0, 0);
  const first = jobs[0] && { id: jobs[0].id, name: jobs[0].name, data: Object.keys(jobs[0].data).sort() };
  console.log(JSON.stringify({ counts: await queue.getJobCounts(), workers: (await queue.getWorkers()).length, first }));
  await queue.close();
} else {
  const { createBullBoard } = await import("@bull-board/api");
  const { BullMQAdapter } = await import("@bull-board/api/bullMQAdapter");
  const { ExpressAdapter } = await import("@bull-board/express");
  const { default: express } = await import("express");
  const server = new ExpressAdapter();
  const readOnlyMode = process.env.BOARD_WRITE !== "1";
  createBullBoard({ queues: [new BullMQAdapter(queue, { readOnlyMode })], serverAdapter: server });
  const port = Number(process.env.PORT ?? 3000);
  express().use("/", server.getRouter()).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}`));
}
