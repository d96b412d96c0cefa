// Opens server-sent streams and says over IPC when all are open and how late each marked event arrives at each.
import { request } from "node:http";

const [url, count, token] = process.argv.slice(2);
let open = 0;

const follow = () => {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const sink = request(url, { headers, agent: false }, (source) => {
    if (source.statusCode !== 200) throw new Error(`answered ${source.statusCode}`);
    let rest = "";
    source.setEncoding("utf8").once("data", () => {
      if (++open === Number(count)) process.send({ open });
    });
    source.on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        const sent = /"hostname":"sent-(\d+)"/.exec(line);
        if (sent !== null) process.send({ delayMs: Date.now() - Number(sent[1]) });
      }
    });
  });
  sink.on("error", () => {}).end();
};

for (let index = 0; index < Number(count); index++) follow();
process.on("disconnect", () => process.exit(0));
