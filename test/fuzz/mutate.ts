/** Damaged copies of files, the same ones at every run. */
import {randomStream} from '../../src/random/index.js'
import {SLOW} from '../helpers/effort.js'

/** Damaged copies per file: more under RFA_SLOW. */
export const DAMAGES = SLOW ? 3000 : 60

/** Longest time of one test, in ms. */
export const PATIENCE = SLOW ? 600_000 : 60_000

/** The `n`-th damaged copy: one to three flips, overwritten bytes, cuts, insertions or copied parts. */
export function damaged(bytes: Uint8Array, n: number): Buffer {
  const stream = randomStream(n, 'fuzz')
  const below = (limit: number) => stream.integer(limit)
  let out = Buffer.from(bytes)
  for (let times = 1 + below(3); times > 0 && out.length > 0; times--) {
    const at = below(out.length)
    const to = at + 1 + below(Math.min(16, out.length - at))
    const kind = below(6)
    if (kind === 0) out[at]! ^= 1 << below(8)
    if (kind === 1) out[at] = below(256)
    if (kind === 2) out.fill(below(2) * 255, at, to)
    if (kind === 3) out = Buffer.concat([out.subarray(0, at), out.subarray(to)])
    if (kind === 4) out = Buffer.concat([out.subarray(0, to), out.subarray(at)])
    if (kind === 5) out = out.subarray(0, at)
  }
  return out
}
