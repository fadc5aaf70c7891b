/** What commands would have done, told by each test. */
import {vi} from 'vitest'
import type {Services} from '../../src/cli/program/services.js'
import {planRun} from '../../src/experiments/planned-run.js'
import {countRecords} from '../../src/results/folder/summary.js'
import type {CellRecord, Plan} from '../../src/results/record.js'
import {checkInput, type Preparation, prepareDryRun} from '../../src/runner/preparation.js'
import type {WorkerProcess} from '../../src/runner/workers/worker-process.js'
import {BENCH_MANIFEST} from '../helpers/records/bench.js'
import {MACHINE} from '../helpers/records/machine.js'
import {runCommand} from './run-command.js'

/** What a worker would answer of a plan. */
export async function prepared(
  asked: Plan,
  _worker?: unknown,
  {shards: count}: {shards?: number | undefined} = {},
): Promise<Preparation> {
  const {plan, threading, warnings, shards} = await prepareDryRun(asked, {shards: count})
  const {jobs} = await planRun(plan)
  return {plan, jobs, threading, warnings, shards, notes: [], serves: false, heldBytes: 0}
}

export const runner = {
  runExperiment: vi.fn<Services['runExperiment']>(),
  assertFits: vi.fn<Services['assertFits']>(),
  planKeys: vi.fn<Services['planKeys']>(),
  applyEstimator: vi.fn<Services['applyEstimator']>(),
  exportLayers: vi.fn<Services['exportLayers']>(),
  checkEstimator: vi.fn<Services['checkEstimator']>(),
  openRun: vi.fn<Services['openRun']>(),
  readPlan: vi.fn<Services['readPlan']>(async () => undefined),
  readShard: vi.fn<Services['readShard']>(async () => undefined),
  startOthers: vi.fn<Services['startOthers']>(async () => {}),
  dropOthers: vi.fn<Services['dropOthers']>(async () => {}),
  prepareRun: vi.fn<Services['prepareRun']>(prepared),
  showFile: vi.fn<Services['showFile']>(async () => true),
  checkInput: vi.fn<Services['checkInput']>(async plan => checkInput(plan)),
}
/** The worker that commands take: they have to end it. */
export const worker = {kill: vi.fn(async () => {})}

const SERVICES: Partial<Services> = {
  ...runner,
  takeWorker: async () => worker as unknown as WorkerProcess,
  machineFacts: async () => MACHINE,
  newRunDirectory: async experiment => `results/${experiment}-now`,
}

/** Runs a command that calls the functions of {@link runner} for what takes long. */
export const run = (command: unknown, id: string, argv: string[]) =>
  runCommand(command, id, argv, SERVICES)

/** Makes the runner answer with these records. */
export function answerWith(...records: CellRecord[]): void {
  runner.runExperiment.mockImplementation(async ({plan}, {directory, onProgress}) => {
    onProgress?.({
      done: 1,
      total: 1,
      label: '',
      soFar: '',
      etaMs: 0,
      share: 1,
      rough: false,
      failed: 0,
    })
    const counts = countRecords(records)
    const manifest = {...BENCH_MANIFEST, plan}
    return {schema: 'rfa.finished-run/1', directory, manifest, records, counts, verdicts: []}
  })
}

/** The plan and the options that the runner was called with. */
export function lastRun() {
  const [{plan}, options] = runner.runExperiment.mock.lastCall!
  return {plan, options}
}
