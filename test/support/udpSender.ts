import { createSocket } from "node:dgram"

// Run as a process of its own: sends small datagrams to the ports of an address in turns, at an even rate, until it is
// told to stop, and then prints how many it sent to each.
const [address = "", rate = "", ...ports] = process.argv.slice(2)

const socket = createSocket("udp4")
const started = performance.now()
let sent = 0
const due = () => Math.floor((performance.now() - started) / 1000 * Number(rate))

const timer = setInterval(() => {
  for (const now = due(); sent < now; sent++) for (const port of ports) socket.send("x", Number(port), address)
}, 1)

process.once("SIGTERM", () => {
  clearInterval(timer)
  socket.close(() => process.stdout.write(`SENT ${sent}\n`))
})
process.stdout.write("SENDING\n")
