// Sends one request again and again on each of many connections for a while, and says over IPC what came of it.
import { connect } from "node:net";

const headEnd = Buffer.from("\r\n\r\n");

/** Octets of the first answer in the buffer; undefined while it isn't whole. */
const lengthOf = (buffer) => {
  const end = buffer.indexOf(headEnd);
  if (end < 0) return undefined;
  const head = buffer.latin1Slice(0, end);
  if (head[9] !== "2") throw new Error(`answered ${head.slice(0, 60)} ${buffer.utf8Slice(end + 4)}`);
  const length = /\r\ncontent-length: (\d+)/i.exec(head);
  if (length === null) throw new Error("an answer without a length");
  const whole = end + 4 + Number(length[1]);
  return buffer.length < whole ? undefined : whole;
};

const drive = ({ connections, port, request, requestsMin, seconds }) =>
  new Promise((resolve, reject) => {
    const octets = Buffer.from(request);
    const until = performance.now() + seconds * 1000;
    const times = [];
    let open = connections;
    const begin = performance.now();
    for (let index = 0; index < connections; index++) {
      const socket = connect(port, "127.0.0.1");
      let rest = Buffer.alloc(0);
      let sent = 0;
      const send = () => {
        sent = performance.now();
        socket.write(octets);
      };
      socket.setNoDelay(true).on("connect", send).on("error", reject).on("data", (chunk) => {
        try {
          rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
          const length = lengthOf(rest);
          if (length === undefined) return;
          rest = rest.subarray(length);
          const now = performance.now();
          times.push(now - sent);
          if (now < until || times.length < requestsMin) return send();
          socket.destroy();
          if (--open === 0) resolve({ times: times.sort((a, b) => a - b), elapsed_s: (now - begin) / 1000 });
        } catch (error) {
          reject(error);
        }
      });
    }
  });

process.on("message", async (load) => {
  try {
    const { elapsed_s, times } = await drive(load);
    process.send({
      requests: times.length,
      elapsed_s,
      p50_ms: times[times.length >> 1],
      p99_ms: times[Math.floor(times.length * 0.99)],
    });
  } catch (error) {
    process.send({ failed: String(error) });
  }
});
process.on("disconnect", () => process.exit(0));
