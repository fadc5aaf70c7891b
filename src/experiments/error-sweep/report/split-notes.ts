/** How many replicates it takes to split a row's error into bias and variance. */
import {groupBy} from '../../../report/groups.js'
import {methodLabel, variantLabel} from '../../labels.js'
import {type CompletedSweep, replicatesOf} from '../schema.js'

/** Standard errors from which a bias is seen: 5 % false alarms of a one-sided normal test; measured, 0.1 to 3 %. */
const SEEN = 1.645
/** Standard errors more, so that a bias of that size is seen nine times in ten. */
const POWER = 1.282
/** The share of the mean squared error that a bias^2 worth telling has. */
const SHARE = 0.1

/** Rows that one sentence names. */
const MOST_NAMED = 6

/**
 * Replicates with which a bias^2 of a tenth of the mean squared error is seen nine times in ten, where bias^2 is within
 * its noise and there are fewer; else `undefined`. The noise of bias^2 falls like 1 / R as long as no bias is seen.
 */
export function splitReplicates(row: CompletedSweep): number | undefined {
  const {bias_squared: bias, bias_squared_standard_error: error, mse} = row.result
  const replicates = replicatesOf(row)
  if (bias === null || !error || !mse.mean || replicates < 2 || bias > SEEN * error)
    return undefined
  const needed = Math.ceil((replicates * error * (SEEN + POWER)) / (SHARE * mse.mean))
  return needed > replicates ? needed : undefined
}

/** One sentence on the rows whose bias^2 is noise. */
export function splitItems(rows: readonly CompletedSweep[]): string[] {
  const found = rows.flatMap(row => {
    const needed = splitReplicates(row)
    return needed === undefined ? [] : [{row, needed}]
  })
  if (found.length === 0) return []
  const names = groupBy(found, ({row}) => methodLabel(row.cell)).flatMap(group =>
    group.map(
      ({row, needed}) =>
        `${variantLabel(row.cell)} about ${Number(needed.toPrecision(2)).toLocaleString('en-US')}`,
    ),
  )
  const rest = names.length - MOST_NAMED
  const more = rest > 0 ? [`and ${rest} more`] : []
  return [
    `bias^2 is within its noise; replicates with which one of 10 % of the mean MSE would be seen: ${[...names.slice(0, MOST_NAMED), ...more].join('; ')}`,
  ]
}
