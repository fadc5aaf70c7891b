/** Lists of a record, which reports of large runs are given without. */
import {z} from 'zod'
import {readAgain} from '../../results/journal/large-journal.js'
import {parseWith} from '../../results/journal/parse-record.js'
import {asPresentRecord} from './earlier.js'
import {type CompletedSweep, type ErrorSweepResult, errorSweepResult} from './schema.js'

const withLists = z.object({
  result: errorSweepResult.pick({per_head: true, replicate_metrics: true}),
})

/** Errors of each head, read from the journal where the record lacks them. @throws {BAD_FILE} where that has changed */
export function headsOf(record: CompletedSweep): ErrorSweepResult['per_head'] {
  return record.result.per_head ?? listsOf(record).per_head
}

/** Metrics of each replicate, read likewise; `null` where a version kept none. @throws likewise */
export function replicateMetricsOf(record: CompletedSweep): ErrorSweepResult['replicate_metrics'] {
  const {replicate_metrics: held} = record.result
  return held === undefined ? listsOf(record).replicate_metrics : held
}

function listsOf({place}: CompletedSweep): z.infer<typeof withLists>['result'] {
  // what lacks lists has a place
  const {path, number} = place!
  const record = asPresentRecord(readAgain(place!))
  return parseWith(withLists, record, `${path}:${number}`, 'a record of an error sweep').result
}
