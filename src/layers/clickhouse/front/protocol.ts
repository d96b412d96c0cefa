/** Who may use the front. */
export interface Login {
  readonly user: string
  readonly password: string
}

/** What the parent sends once over the IPC channel: secrets stay out of the command line and the environment. */
export interface Start {
  readonly path: string
  readonly port: number
  readonly writer: Login
  /** Whatever this one sends is carried out with `readonly = 1`. */
  readonly reader: Login
}

/** What the child answers once. */
export type Started =
  | { readonly type: "ready"; readonly port: number; readonly version: string }
  | { readonly type: "failed"; readonly reason: "missing" | "locked" | "other"; readonly message: string }
