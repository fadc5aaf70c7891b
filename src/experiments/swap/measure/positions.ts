/** Effects by position in a text, in bins that double: 1, 2, 3 to 4, 5 to 8, ... */
import {finiteOrNull, linearised, mean, overDrawsAndTexts} from '../../../stats/index.js'
import type {Effect, SwapResult} from '../schema.js'
import type {MeasuredTexts} from './engine.js'
import type {NextTokens} from './next-tokens.js'

/**
 * The bins up to the longest text.
 *
 * @param distances - of the outputs of the last layer from those of the original, squared: draws, in each the batches, `[B L]`
 * @param natsAdded - of each bin; none for an encoder
 */
export function positionsOf(
  original: MeasuredTexts,
  distances: readonly (readonly Float32Array[])[],
  natsAdded: readonly Effect[],
): SwapResult['positions'] {
  const lengths = original.batches.flatMap(({tokens}) => tokens.lengths)
  const longest = Math.max(...lengths)
  return hiddenErrors(original, distances, binOf(longest) + 1).map((error, bin) => {
    const first = firstOf(bin)
    return {
      first,
      last: Math.min(2 ** bin, longest),
      texts: lengths.filter(length => length >= first).length,
      nats_added: natsAdded[bin] ?? null,
      hidden_error: finiteOrNull(error),
    }
  })
}

/** Nats added in each bin, a mean over the tokens in it. @param table - a row for each draw, in it the texts */
export function natsByPosition(table: readonly (readonly NextTokens[])[]): Effect[] {
  const most = Math.max(...table[0]!.map(({added}) => added.length))
  return Array.from({length: binOf(most) + 1}, (_, bin) => {
    const places = table.map(row =>
      row.flatMap(({added}) => {
        const own = added.subarray(firstOf(bin) - 1, 2 ** bin)
        return own.length > 0 ? [own] : []
      }),
    )
    const means = places.map(row => row.map(own => mean(own)))
    return overDrawsAndTexts(
      linearised(
        means,
        places[0]!.map(({length}) => length),
      ),
    )
  })
}

/** The bin of a position. @param position - from 1 */
function binOf(position: number): number {
  return 32 - Math.clz32(position - 1)
}

/** The first position of a bin; the last one is `2 ** bin`. */
function firstOf(bin: number): number {
  return bin === 0 ? 1 : 2 ** (bin - 1) + 1
}

/** Relative L2 error of the tokens of each bin, root mean square over draws. */
function hiddenErrors(
  {batches}: MeasuredTexts,
  distances: readonly (readonly Float32Array[])[],
  bins: number,
): number[] {
  const sums = Array.from({length: bins}, () => ({error: 0, exact: 0}))
  batches.forEach(({tokens: {length, lengths}, squares}, at) => {
    const exact = squares.at(-1)!
    for (const draw of distances) {
      lengths.forEach((count, text) => {
        for (let place = 0; place < count; place++) {
          const sum = sums[binOf(place + 1)]!
          sum.error += draw[at]![text * length + place]!
          sum.exact += exact[text * length + place]!
        }
      })
    }
  })
  return sums.map(({error, exact}) => Math.sqrt(error / exact))
}
