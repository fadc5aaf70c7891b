/** When a model draws new projections: a policy and the number of the call say what to take. */
import {expected} from '../../errors.js'
import {randomStream} from '../../random/index.js'

/**
 * - `fixed`: one draw for all calls.
 * - `call`: a new draw for every call (google-research's Performer).
 * - `every`: a new draw after every n calls (performer-pytorch: 1000).
 * - `pool`: n matrices are drawn once; every call takes one for each head, at random without replacement, and
 * evaluation takes the first ones (RFA: 500).
 */
export type RedrawPolicy =
  | {kind: 'fixed'}
  | {kind: 'call'}
  | {kind: 'every'; calls: number}
  | {kind: 'pool'; size: number}

/** How policies are written. */
export const REDRAW_FORMS = 'fixed, call, every:CALLS or pool:SIZE'

/** Reads `fixed`, `call`, `every:1000` or `pool:500`. @throws {BAD_OPTION} for anything else */
export function parseRedraw(text: string, where = 'redraw'): RedrawPolicy {
  if (text === 'fixed' || text === 'call') return {kind: text}
  const [, kind, digits] = /^(every|pool):(\d{1,9})$/.exec(text) ?? []
  const number = Number(digits)
  if (kind === 'every' && number > 0) return {kind, calls: number}
  if (kind === 'pool' && number > 0) return {kind, size: number}
  throw expected('BAD_OPTION', where, REDRAW_FORMS, JSON.stringify(text))
}

/** What one call takes. */
export interface RedrawChoice {
  /** Which draw: {@link ProjectionRequest.redraw}. */
  redraw: number
  /** Matrices in that draw: one per head, or the size of the pool. */
  count: number
  /** Which of them the heads take, in order. */
  members: readonly number[]
}

/** What choices depend on in addition to policy and call. */
export interface RedrawContext {
  heads: number
  seed: number
  /** Default 0. */
  replicate?: number
  /** Evaluation takes what does not depend on the call: the first draw, the first of a pool. */
  evaluation?: boolean
}

/**
 * What a call takes.
 *
 * @param call - its number, from 0
 * @throws {BAD_OPTION} for a pool that is smaller than the number of heads
 */
export function redrawChoice(
  policy: RedrawPolicy,
  call: number,
  {heads, seed, replicate = 0, evaluation = false}: RedrawContext,
): RedrawChoice {
  const first = Array.from({length: heads}, (_, head) => head)
  if (policy.kind === 'pool') {
    const {size} = policy
    if (size < heads) {
      throw expected('BAD_OPTION', 'redraw', `a pool of at least ${heads} matrices`, String(size))
    }
    const members = evaluation ? first : sample(size, heads, seed, replicate, call)
    return {redraw: 0, count: size, members}
  }
  const calls = {fixed: Infinity, call: 1, every: policy.kind === 'every' ? policy.calls : 1}
  const redraw = evaluation ? 0 : Math.floor(call / calls[policy.kind])
  return {redraw, count: heads, members: first}
}

/** The first `count` of a random permutation of 0..size-1 (Fisher-Yates on the few that move). */
function sample(
  size: number,
  count: number,
  seed: number,
  replicate: number,
  call: number,
): number[] {
  const stream = randomStream(seed, 'projection.pool', replicate, call)
  const moved = new Map<number, number>()
  return Array.from({length: count}, (_, i) => {
    const at = i + stream.integer(size - i)
    const taken = moved.get(at) ?? at
    moved.set(at, moved.get(i) ?? i)
    return taken
  })
}
