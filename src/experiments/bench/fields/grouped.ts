/** Keys and values of fewer heads than queries (grouped-query attention), as a benchmark times them. */
import {z} from 'zod'

const FLOAT = 4

/** Heads of keys and values, in plans and cells. */
export const kvHeadsField = z
  .int()
  .positive()
  .optional()
  .describe(
    'Hkv, heads of keys and values, which divide H. As no kernel here shares heads, each is repeated for the H / Hkv heads of queries that it serves inside the timed region, as a model without a kernel for it does; a decode repeats those of each token, so that its state has H heads. Absent: the same number as `heads`.',
  )

export interface Heads {
  heads: number
  kv_heads?: number | undefined
}

/** Whether the numbers of heads fit: all heads of keys and values serve the same number of heads of queries. */
export function areGrouped({heads, kv_heads}: Heads): boolean {
  return kv_heads === undefined || heads % kv_heads === 0
}

export function keyHeads({heads, kv_heads}: Heads): number {
  return kv_heads ?? heads
}

/** The field of cells: left out where nothing is shared, so that cells are the same as in plans without it. */
export function kvHeadsOf({heads, kv_heads}: Heads): Pick<Heads, 'kv_heads'> {
  return kv_heads === undefined || kv_heads === heads ? {} : {kv_heads}
}

/** `H=8`, or `H=8 Hkv=2`. */
export function headsText(sizes: Heads): string {
  const {kv_heads} = kvHeadsOf(sizes)
  return `H=${sizes.heads}${kv_heads === undefined ? '' : ` Hkv=${kv_heads}`}`
}

/** Bytes of the repeated keys and values of a call; 0 where nothing is repeated. */
export function copiedBytes(
  sizes: Heads & {batch: number; seq_len: number; head_dim: number; value_dim: number},
): number {
  const {batch, heads, seq_len, head_dim, value_dim} = sizes
  if (keyHeads(sizes) === heads) return 0
  return FLOAT * batch * heads * seq_len * (head_dim + value_dim)
}
