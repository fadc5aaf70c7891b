/** `rfa merge`: folders of shards become the folder of one run. */
import type {RfaError} from '../../errors.js'
import {resumeLine} from '../../report/command-line.js'
import {plural} from '../../report/numbers.js'
import type {Plan} from '../../results/record.js'
import {type ExperimentRun, FaultyRun} from '../../runner/folder/finished-run.js'
import {readShards, writeMerged} from '../../runner/folder/merge.js'
import type {RunOptions} from '../flags/shared.js'
import type {Invocation} from '../program/services.js'
import type {PluginsAsked} from './plugins.js'
import {closing} from './run-plan.js'

export interface Merging extends Pick<RunOptions, 'output' | 'format' | 'samples' | 'details'> {
  partial: boolean
  plugins: PluginsAsked
}

/** A merged run, and what there is to say below its tables. */
export interface EndedMerge {
  run: ExperimentRun
  closing: readonly string[]
  /** Cells of its plan that have not ended. */
  missing: number
  /** Why its tables could not be saved; its records are. */
  fault?: RfaError | undefined
}

export async function mergeFolders(
  directories: readonly string[],
  {output, format, samples, partial, plugins, details}: Merging,
  {services, caution}: Invocation,
): Promise<EndedMerge> {
  const load = async (plan: Plan) => {
    if (!plan.plugins) return
    const {withNamedPlugins} = await import('./plugins.js')
    withNamedPlugins(plan, {from: directories[0]!, keeper: 'run'}, plugins)
  }
  const merged = await readShards(directories, load, caution)
  const {experiment} = merged.manifest.plan
  const directory = output ?? (() => services.newRunDirectory(experiment, new Date()))
  const options = {
    ...{directory, partial, onWarning: caution, formats: format},
    requested: samples ? (['samples'] as const) : [],
  }
  const missing = merged.missing.length
  try {
    const run = await writeMerged(merged, options)
    const [first = '', ...others] = saidOf(run, missing, details)
    const said = `merged ${plural(merged.shards.length, 'shard')}: ${first}`
    return {run, closing: [said, ...others], missing}
  } catch (error) {
    if (!(error instanceof FaultyRun)) throw error
    return {run: error.run, closing: [], missing, fault: error}
  }
}

function saidOf(run: ExperimentRun, missing: number, details: boolean): string[] {
  const {argv} = run.manifest
  const directory = run.directory ?? ''
  const goOn = resumeLine(argv, directory)
  return [
    ...closing(run, {directory, argv, profile: false, details}),
    ...(missing > 0 ? [`${plural(missing, 'cell')} missing: ${goOn}`] : []),
  ]
}
