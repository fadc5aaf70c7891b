/** What a benchmark found, as the first screen of a report tells it: crossovers, then growth. */

import type {BenchRecord} from '../schema.js'
import {benchFits} from './fits.js'

/** The most telling answers first. */
const ORDER = ['overtakes', 'faster', 'mixed', 'slower', 'unsettled'] as const

/** A sentence for each variant against each exact form, and for each exponent. */
export function benchHighlights(records: readonly BenchRecord[]): string[] {
  const fits = benchFits(records)
  const crossings = fits.flatMap(({variant, crossovers}) =>
    crossovers.map(({answer, statement}) => ({answer, text: `${variant} ${statement}.`})),
  )
  const growth = fits.flatMap(({variant, slope, slope_lengths: lengths}) => {
    if (slope === null) return []
    const [value, low, high] = [slope.value, slope.low, slope.high].map(x => x.toFixed(2))
    return [
      `The time of ${variant} grows as L^${value} [${low}, ${high}] from ${lengths[0]} to ${lengths.at(-1)} tokens.`,
    ]
  })
  return [
    ...ORDER.flatMap(one => crossings.filter(({answer}) => answer === one)).map(({text}) => text),
    ...growth,
  ]
}
