import { Context, Data, DateTime, Duration, Effect, Layer, Option, Redacted } from "effect"
import type { ApiToken, ApiTokenId } from "../schema/ApiToken.ts"
import { inRange, ipOctets, parseCidr } from "../schema/Ip.ts"
import type { InvalidCursor, Page, PageRequest } from "../schema/Page.ts"
import type { Session, SessionId } from "../schema/Session.ts"
import { ScopedUser, type User } from "../schema/User.ts"
import { ApiTokens } from "./ApiTokens.ts"
import { Ids } from "./Ids.ts"
import { type Moment, Sessions } from "./Sessions.ts"
import { SignInEvents } from "./SignInEvents.ts"
import { SignInLimits } from "./SignInLimits.ts"
import { isToken, makeToken, sha256 } from "./tokens.ts"

/** The token isn't to be used from this address. */
export class TokenAddressRefused extends Data.TaggedError("Authenticator/TokenAddressRefused")<{
  readonly user: User
}> {}

/** By what a caller proved who it is. */
export type Credential =
  | { readonly _tag: "Session"; readonly session: Session; readonly tokenHash: string }
  | { readonly _tag: "ApiToken"; readonly token: ApiToken }

export const credentialId = (credential: Credential): SessionId | ApiTokenId =>
  credential._tag === "Session" ? credential.session.id : credential.token.id

/** Who calls; `user.permissions` are those of the role, cut to the scopes of an API token. */
export interface Caller {
  readonly user: User
  readonly credential: Credential
}

export type SessionCredential = Extract<Credential, { readonly _tag: "Session" }>

/** Tokens back to users, and what becomes of tokens. */
export class Authenticator extends Context.Tag("services/Authenticator")<
  Authenticator,
  {
    /** The caller of a token of any kind that is alive; one round trip to the store. */
    readonly authenticate: (
      token: Redacted.Redacted,
      address: string
    ) => Effect.Effect<Option.Option<Caller>, TokenAddressRefused>
    /** The ids of those sessions and tokens that a request could still be made with. */
    readonly alive: (credentials: ReadonlyArray<Credential>) => Effect.Effect<ReadonlySet<string>>
    /** A new token for a session, the old one being dead; none where it was too late, or too late for another hour. */
    readonly refresh: (
      user: User,
      credential: SessionCredential,
      address: string
    ) => Effect.Effect<Option.Option<{ readonly token: Redacted.Redacted; readonly expiresIn: Duration.Duration }>>
    readonly logout: (user: User, credential: SessionCredential, address: string) => Effect.Effect<void>
    readonly sessions: (user: User, page: PageRequest) => Effect.Effect<Page<Session>, InvalidCursor>
    /** False where the user has no such session. */
    readonly endSession: (user: User, id: SessionId, address: string) => Effect.Effect<boolean>
  }
>() {}

const allows = ({ allowedNetworks }: ApiToken, address: string): boolean => {
  const octets = ipOctets(address)
  return allowedNetworks.length === 0 ||
    octets !== undefined && allowedNetworks.some((network) => inRange(parseCidr(network)!, octets))
}

export const AuthenticatorLive = Layer.effect(
  Authenticator,
  Effect.gen(function*() {
    const sessions = yield* Sessions
    const tokens = yield* ApiTokens
    const events = yield* SignInEvents
    const limits = yield* SignInLimits
    const ids = yield* Ids

    const moment = Effect.map(
      DateTime.now,
      (now): Moment => ({ now, idleSince: DateTime.subtractDuration(now, limits.session.idle) })
    )
    const tell = (type: "logout" | "session.refreshed" | "session.ended", user: User, address: string) =>
      events.publish({ type, userId: user.id, username: user.username, address })

    const ofSession = Effect.fnUntraced(function*(text: string) {
      const tokenHash = yield* sha256(text)
      const live = yield* sessions.resolve(tokenHash, yield* moment)
      return Option.map(live, ({ session, user }): Caller => ({
        user,
        credential: { _tag: "Session", session, tokenHash }
      }))
    })

    const ofApiToken = Effect.fnUntraced(function*(text: string, address: string) {
      const found = Option.getOrUndefined(yield* tokens.resolve(yield* sha256(text), yield* DateTime.now))
      if (found === undefined) return Option.none<Caller>()
      const { token, user } = found
      if (!allows(token, address)) return yield* new TokenAddressRefused({ user })
      return Option.some<Caller>({
        user: new ScopedUser({ ...user, scopes: token.scopes }),
        credential: { _tag: "ApiToken", token }
      })
    })

    return Authenticator.of({
      authenticate: (token, address) => {
        const text = Redacted.value(token)
        if (isToken("session", text)) return ofSession(text)
        return isToken("api", text) ? ofApiToken(text, address) : Effect.succeedNone
      },
      alive: Effect.fnUntraced(function*(credentials) {
        const at = yield* moment
        const idsOf = <A>(tag: Credential["_tag"]) =>
          [...new Set(credentials.filter(({ _tag }) => _tag === tag).map(credentialId))] as unknown as ReadonlyArray<A>
        const sessionIds = idsOf<SessionId>("Session")
        const tokenIds = idsOf<ApiTokenId>("ApiToken")
        return new Set<string>([
          ...(sessionIds.length === 0 ? [] : yield* sessions.alive(sessionIds, at)),
          ...(tokenIds.length === 0 ? [] : yield* tokens.alive(tokenIds, at.now))
        ])
      }),
      refresh: Effect.fn("Authenticator.refresh")(function*(user, { session, tokenHash }, address) {
        const at = yield* moment
        const end = DateTime.addDuration(session.createdAt, limits.session.absolute)
        const expiresAt = DateTime.min(DateTime.addDuration(at.now, limits.session.expiresIn), end)
        const token = makeToken("session", yield* ids.secret)
        const next = { tokenHash: yield* sha256(Redacted.value(token)), expiresAt }
        if (!(yield* sessions.renew(tokenHash, next, at))) return Option.none()
        yield* tell("session.refreshed", user, address)
        return Option.some({ token, expiresIn: DateTime.distanceDuration(at.now, expiresAt) })
      }),
      logout: Effect.fn("Authenticator.logout")(function*(user, { session }, address) {
        yield* sessions.end(session.id, user.id)
        yield* tell("logout", user, address)
      }),
      sessions: (user, page) => Effect.flatMap(moment, (at) => sessions.list(user.id, at, page)),
      endSession: Effect.fn("Authenticator.endSession")(function*(user, id, address) {
        const ended = yield* sessions.end(id, user.id)
        if (ended) yield* tell("session.ended", user, address)
        return ended
      })
    })
  })
)
