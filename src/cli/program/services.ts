/** What commands have done for them, loaded when it is needed; whoever runs a command may hand it others. */
import type {applyEstimator} from '../../apply/apply.js'
import type {checkEstimator} from '../../check/index.js'
import type {PlannedRun, planKeys} from '../../experiments/planned-run.js'
import type {exportLayers} from '../../export/export.js'
import type {machineFacts} from '../../results/folder/machine.js'
import type {RunManifest} from '../../results/folder/manifest.js'
import type {defaultRunDirectory} from '../../results/folder/new-directory.js'
import type {openRun, SavedRun} from '../../results/folder/run-directory.js'
import type {Shard} from '../../results/folder/shard.js'
import type {Plan} from '../../results/record.js'
import type {prepareDryRun} from '../../runner/preparation.js'
import type {runExperiment} from '../../runner/run-experiment.js'
import type {assertFits} from '../../runner/schedule/dry-run.js'
import type {askForCheck, askForPlan} from '../../runner/workers/planner.js'
import type {dropAhead, startOthers, takeWorker} from '../../runner/workers/prestarted-worker.js'
import type {showFile} from './show-file.js'

/** A function of the library with a module that has not been loaded yet. */
type Lazy<F extends (...args: never[]) => unknown> = (
  ...args: Parameters<F>
) => Promise<Awaited<ReturnType<F>>>

/** Everything in which commands touch the machine: backends, files, processes. */
export interface Services {
  takeWorker: Lazy<typeof takeWorker>
  startOthers: Lazy<typeof startOthers>
  dropOthers: Lazy<typeof dropAhead>
  prepareRun: Lazy<typeof askForPlan>
  prepareDryRun: Lazy<typeof prepareDryRun>
  checkInput: Lazy<typeof askForCheck>
  assertFits: Lazy<typeof assertFits>
  runExperiment: Lazy<typeof runExperiment>
  planKeys: Lazy<typeof planKeys>
  openRun: Lazy<typeof openRun>
  /** The run that a plan would continue, `undefined` where it would start one. Refuses what running it would. */
  examineRun(directory: string, run: PlannedRun): Promise<SavedRun | undefined>
  /** The plan of the run in a folder, `undefined` where there is none. */
  readPlan(directory: string): Promise<Plan | undefined>
  /** Which part of its plan the run in a folder is, `undefined` where there is none, or it is all. */
  readShard(directory: string): Promise<Shard | undefined>
  applyEstimator: Lazy<typeof applyEstimator>
  exportLayers: Lazy<typeof exportLayers>
  checkEstimator: Lazy<typeof checkEstimator>
  machineFacts: Lazy<typeof machineFacts>
  /** Folder of all-MiniLM-L6-v2, where Python has it. */
  minilmFolder(): Promise<string | null>
  showFile: Lazy<typeof showFile>
  newRunDirectory(...args: Parameters<typeof defaultRunDirectory>): Promise<string>
}

async function manifestIn(directory: string): Promise<RunManifest | undefined> {
  const {readManifest} = await import('../../results/folder/run-directory.js')
  const {allExperiments} = await import('../../experiments/index.js')
  return readManifest(directory, await allExperiments())
}

/** Those of the library. */
export const services: Services = {
  takeWorker: async (...args) =>
    (await import('../../runner/workers/prestarted-worker.js')).takeWorker(...args),
  startOthers: async (...args) =>
    (await import('../../runner/workers/prestarted-worker.js')).startOthers(...args),
  dropOthers: async () => (await import('../../runner/workers/prestarted-worker.js')).dropAhead(),
  prepareRun: async (...args) =>
    (await import('../../runner/workers/planner.js')).askForPlan(...args),
  prepareDryRun: async (...args) =>
    (await import('../../runner/preparation.js')).prepareDryRun(...args),
  checkInput: async (...args) =>
    (await import('../../runner/workers/planner.js')).askForCheck(...args),
  assertFits: async (...args) =>
    (await import('../../runner/schedule/dry-run.js')).assertFits(...args),
  runExperiment: async (run, options) => {
    const {takeOther} = await import('../../runner/workers/prestarted-worker.js')
    const {runExperiment} = await import('../../runner/run-experiment.js')
    return runExperiment(run, {...options, takeOther})
  },
  planKeys: async (...args) => (await import('../../experiments/planned-run.js')).planKeys(...args),
  openRun: async (...args) =>
    (await import('../../results/folder/run-directory.js')).openRun(...args),
  examineRun: async (directory, {plan, jobs, shard: asked}) => {
    const {examineRun} = await import('../../results/folder/run-directory.js')
    const {allExperiments} = await import('../../experiments/index.js')
    const {planKeys, planLabels} = await import('../../experiments/planned-run.js')
    const experiments = await allExperiments()
    const shard = asked && {...asked, cells: jobs.length}
    const names = {keysOf: planKeys, labelsOf: planLabels}
    const request = {directory, experiments, plan, shard, argv: [], resume: true, ...names}
    return examineRun(request)
  },
  readPlan: async directory => (await manifestIn(directory))?.plan,
  readShard: async directory => (await manifestIn(directory))?.shard,
  applyEstimator: async (...args) => (await import('../../apply/apply.js')).applyEstimator(...args),
  exportLayers: async (...args) => (await import('../../export/export.js')).exportLayers(...args),
  checkEstimator: async (...args) => (await import('../../check/index.js')).checkEstimator(...args),
  machineFacts: async (...args) =>
    (await import('../../results/folder/machine.js')).machineFacts(...args),
  minilmFolder: async () => {
    const {pythonFacts} = await import('./python-facts.js')
    return (await pythonFacts())?.minilm ?? null
  },
  showFile: async (...args) => (await import('./show-file.js')).showFile(...args),
  newRunDirectory: async (experiment, date) => {
    const {defaultRunDirectory, makeNewDirectory} = await import(
      '../../results/folder/new-directory.js'
    )
    return makeNewDirectory(defaultRunDirectory(experiment, date))
  },
}

/** What a run needs to know about the command that called it. */
export interface Invocation {
  /** The command, word by word, as it was typed. */
  argv: readonly string[]
  services: Services
  /** Says something on stderr. */
  note(text: string): void
  /** Says it even where notes are not wanted. */
  caution(text: string): void
}
