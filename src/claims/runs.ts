/** The records of a claim's runs. */
import type {TimedRecord} from '../experiments/bench/schema.js'
import type {CompletedSweep} from '../experiments/error-sweep/schema.js'
import type {CompletedVariance} from '../experiments/variance/schema.js'
import type {CellRecord} from '../results/record.js'

/** What a claim's records lack. */
export class Unmeasured extends Error {}

/** Records by the name of their run; a cell without numbers is found where it is asked for. */
export class ClaimRuns {
  constructor(private readonly records: ReadonlyMap<string, readonly CellRecord[]>) {}

  variance(name: string): CompletedVariance[] {
    return this.completed(name) as unknown as CompletedVariance[]
  }

  sweep(name: string): CompletedSweep[] {
    return this.completed(name) as unknown as CompletedSweep[]
  }

  timed(name: string): TimedRecord[] {
    return this.completed(name) as unknown as TimedRecord[]
  }

  /** @throws {Unmeasured} for a run that is not there, and for one with a cell that was skipped or failed */
  private completed(name: string): Extract<CellRecord, {status: 'completed'}>[] {
    const records = this.records.get(name)
    if (!records || records.length === 0) throw new Unmeasured(`the run ${name} is not there`)
    return records.map(record => {
      if (record.status === 'completed') return record
      const why = record.status === 'skipped' ? record.reason : record.error.message
      throw new Unmeasured(`a cell of ${name} was ${record.status}: ${why}`)
    })
  }
}
