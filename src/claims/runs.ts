/** The records of a claim's runs. */

import bench from '../experiments/bench/index.js'
import {machineVerdictOf} from '../experiments/bench/report/lines/machine-verdict.js'
import type {TimedRecord} from '../experiments/bench/schema.js'
import {PairedTimes} from '../experiments/bench/times/paired-times.js'
import type {CompletedSweep} from '../experiments/error-sweep/schema.js'
import type {CompletedSwap} from '../experiments/swap/schema.js'
import type {CompletedTrain} from '../experiments/train/schema.js'
import type {CompletedTune} from '../experiments/tune/schema.js'
import type {CompletedVariance} from '../experiments/variance/schema.js'
import type {CellRecord} from '../results/record.js'

/** What a claim's records lack. */
export class Unmeasured extends Error {
  /** @param cells - what became of cells that it takes; absent: they are there, and say too little */
  constructor(
    message: string,
    readonly cells?: 'failed' | 'skipped',
  ) {
    super(message)
  }
}

function isTimed(record: CellRecord): record is TimedRecord {
  return record.schema === bench.schema && record.status === 'completed'
}

/** Records by the name of their run; a cell without numbers is found where it is asked for. */
export class ClaimRuns {
  #times: PairedTimes | undefined

  constructor(private readonly records: ReadonlyMap<string, readonly CellRecord[]>) {}

  /** Cells of all runs. */
  get counts(): Record<'total' | CellRecord['status'], number> {
    const all = [...this.records.values()].flat()
    const count = (wanted: CellRecord['status']) => {
      return all.filter(({status}) => status === wanted).length
    }
    const [completed, skipped, failed] = [count('completed'), count('skipped'), count('failed')]
    return {total: all.length, completed, skipped, failed}
  }

  /** Whether a run is there. */
  has(name: string): boolean {
    return this.records.has(name)
  }

  /** Whether all cells of a run have numbers. */
  isComplete(name: string): boolean {
    return this.records.get(name)?.every(({status}) => status === 'completed') ?? false
  }

  /** Why these runs may not settle a claim: their machine, their times, or else their number of draws. */
  openReason(names: readonly string[]): 'busy' | 'times' | 'draws' {
    const timed = names.flatMap(name => this.records.get(name) ?? []).filter(isTimed)
    if (timed.length === 0) return 'draws'
    return machineVerdictOf(timed)?.verdict === 'disturbed' ? 'busy' : 'times'
  }

  /** Times of all runs together: one machine took them, one after the other. */
  get times(): PairedTimes {
    this.#times ??= new PairedTimes([...this.records.values()].flat().filter(isTimed))
    return this.#times
  }

  variance(name: string): CompletedVariance[] {
    return this.completed(name) as CompletedVariance[]
  }

  sweep(name: string): CompletedSweep[] {
    return this.completed(name) as CompletedSweep[]
  }

  swap(name: string): CompletedSwap[] {
    return this.completed(name) as CompletedSwap[]
  }

  tune(name: string): CompletedTune[] {
    return this.completed(name) as CompletedTune[]
  }

  train(name: string): CompletedTrain[] {
    return this.completed(name) as CompletedTrain[]
  }

  timed(name: string): TimedRecord[] {
    return this.completed(name) as TimedRecord[]
  }

  /** @throws {Unmeasured} for a run that is not there, and for one with a cell that was skipped or failed */
  private completed(name: string): Extract<CellRecord, {status: 'completed'}>[] {
    const records = this.records.get(name)
    if (!records || records.length === 0) {
      throw new Unmeasured(`the run ${name} is not there`, 'failed')
    }
    return records.map(record => {
      if (record.status === 'completed') return record
      if (record.status === 'skipped') {
        throw new Unmeasured(`a cell of ${name} was skipped: ${record.reason}`, 'skipped')
      }
      throw new Unmeasured(`a cell of ${name} failed: ${record.error.message}`, 'failed')
    })
  }
}
