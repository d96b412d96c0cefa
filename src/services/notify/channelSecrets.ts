import type { LogPipelineDraft, LogPipelineSecrets, LogPipelineSettings } from "../../schema/LogPipeline.ts"
import { redacted } from "../../schema/Redaction.ts"

type Change = (path: string, value: string) => string

/** The settings with each of their secrets changed; a secret's path names where it belongs. */
const changeSecrets = (settings: LogPipelineSettings, change: Change): LogPipelineSettings => {
  const { auth, request, tls } = settings
  const { key_file, key_pass } = tls
  return {
    ...settings,
    auth: auth.strategy === "basic"
      ? { ...auth, password: change("auth.password", auth.password) }
      : auth.strategy === "bearer"
      ? { ...auth, token: change("auth.token", auth.token) }
      : auth,
    tls: {
      ...tls,
      ...(key_file === undefined ? {} : { key_file: change("tls.key_file", key_file) }),
      ...(key_pass === undefined ? {} : { key_pass: change("tls.key_pass", key_pass) })
    },
    request: {
      ...request,
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, change(`request.headers.${name}`, value)])
      )
    }
  }
}

/** A draft as settings without secrets, and the secrets by themselves. */
export const takeSecrets = (
  draft: LogPipelineDraft
): { readonly settings: LogPipelineSettings; readonly secrets: LogPipelineSecrets } => {
  const secrets: Record<string, string> = {}
  const settings = changeSecrets(draft, (path, value) => {
    secrets[path] = value
    return redacted
  })
  return { settings, secrets }
}

/** The settings with their secrets put back. */
export const putSecrets = (settings: LogPipelineSettings, secrets: LogPipelineSecrets): LogPipelineSettings =>
  changeSecrets(settings, (path, value) => secrets[path] ?? value)

/** The secrets of a draft that stand for those that are stored. */
export const keptSecrets = (secrets: LogPipelineSecrets): ReadonlyArray<string> =>
  Object.entries(secrets).filter(([, value]) => value === redacted).map(([path]) => path)
