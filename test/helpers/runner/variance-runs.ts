import {join} from 'node:path'
import {allExperiments} from '../../../src/experiments/index.js'
import type {Job} from '../../../src/experiments/planned-run.js'
import varianceExperiment from '../../../src/experiments/variance/index.js'
import {readRecords} from '../../../src/results/journal/journal-reader.js'
import {type RunExperimentOptions, runExperiment} from '../../../src/runner/run-experiment.js'
import {newFolder} from '../folders.js'
import {VARIANCE_PLAN} from '../records/variance.js'
import {fakeWorker} from './jobs.js'

const EXPERIMENTS = await allExperiments()
/** Records in the journal of a folder. */
export const recordsIn = (directory: string) => readRecords(directory, EXPERIMENTS)

/** A run without a folder whose cells a worker of the tests pretends to compute. */
export const OPTIONS: RunExperimentOptions = {
  ...{directory: null, resume: false, argv: ['rfa', 'variance'], timeoutMs: null, formats: ['csv']},
  schedule: {processes: 2, fresh: false, open: 0, trials: 0, threadShare: 1},
  workerPath: fakeWorker,
}
/** One cell after the other. */
export const SERIAL = {...OPTIONS.schedule, processes: 1}

/** The jobs as those of a variance run. */
export const planned = (jobs: Job[]) => ({
  experiment: varianceExperiment,
  plan: VARIANCE_PLAN,
  jobs,
})
export const run = (jobs: Job[], changes: Partial<RunExperimentOptions> = {}) =>
  runExperiment(planned(jobs), {...OPTIONS, ...changes})

/** A folder that is not there yet. */
export const runFolder = async () => join(await newFolder(), 'run')
