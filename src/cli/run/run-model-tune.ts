/** `rfa tune --model`: every layer learns on some texts, and the model is run on others. */
import {rm} from 'node:fs/promises'
import {join} from 'node:path'
import {expected} from '../../errors.js'
import {troubleItems} from '../../experiments/labels.js'
import {saveTuned, tunedFileOf} from '../../experiments/tune/save.js'
import type {TuneRecord} from '../../experiments/tune/schema.js'
import type {ExportRequest} from '../../export/record.js'
import {writeAtomic} from '../../files.js'
import {readTexts} from '../../inputs/texts.js'
import type {EngineChoice} from '../../model/engine-names.js'
import {openModel, type TransformersModel} from '../../model/index.js'
import {commandText, typeablePath} from '../../report/command-line.js'
import {plural} from '../../report/numbers.js'
import {makeFolder} from '../../results/files.js'
import type {ExperimentRun} from '../../runner/folder/finished-run.js'
import {readTuned, runsInTorch, type TunedFile} from '../../tuned/index.js'
import type {EstimatorFacts} from '../plans/method-specs.js'
import {
  type CutText,
  learnedLayers,
  MORE_FEATURES,
  splitTexts,
  textSizes,
} from '../plans/model-tune.js'
import {type SwapFlags, toSwapPlan} from '../plans/swap.js'
import {type KeptModel, swapFiles} from '../plans/swap-files.js'
import {type TypedTuneFlags, toTunePlan} from '../plans/tune.js'
import type {Invocation} from '../program/services.js'
import {OwnRuns} from './own-folder-run.js'
import {refuseResumeOfNothing} from './run-plan.js'
import {runFolder} from './tuned-file.js'

/** A model with and without what its layers learned. */
export interface EndedModelTune {
  /** The swap on texts that nothing was learned from. */
  run: ExperimentRun
  /** What was learned and judged on. */
  texts: string
  /** Where things are, and what to do next: a line each. */
  closing: string[]
}

/**
 * Learns the layers of a model, one at a time, writes what they learned, and measures what the model loses with it, without it, and
 * with more random vectors.
 *
 * Its folder has the texts of both parts, the run `learn` and the run `swap`.
 *
 * @throws {USAGE} for flags that do not go together
 * @throws {BAD_FILE | FILE_MISSING | UNSUPPORTED} for a model or texts that cannot be read, or too few texts
 * @throws {INTERRUPTED} after Ctrl-C, saying how to go on
 */
export async function runModelTune(
  flags: TypedTuneFlags & {quiet: boolean},
  estimators: EstimatorFacts,
  invocation: Invocation,
): Promise<EndedModelTune> {
  const kept: KeptModel = {}
  const runs = new OwnRuns(invocation)
  try {
    return await learnedAndJudged({flags, estimators, invocation, kept, runs})
  } finally {
    kept.transformers?.close()
    await runs.end()
  }
}

interface ModelTune {
  flags: TypedTuneFlags & {quiet: boolean}
  estimators: EstimatorFacts
  invocation: Invocation
  /** The model, where Transformers runs it. */
  kept: KeptModel
  runs: OwnRuns
}

async function learnedAndJudged(asked: ModelTune): Promise<EndedModelTune> {
  const {flags, estimators, invocation, kept, runs} = asked
  const {services} = invocation
  const {maxTokens, texts: most} = textSizes(flags)
  const folder = await runFolder(flags)
  await refuseResumeOfNothing({...flags, ...folder})
  const files = await swapFiles(flags.sequential ? inTurn(flags) : flags, kept)
  const layers = learnedLayers(flags, files.facts.layers)
  const {path} = files.texts
  const read = (await readTexts(path)).texts.slice(0, most)
  const model = kept.transformers ?? (await openModel(files.model.folder))
  const split = splitTexts(await cutTexts(model, read, maxTokens), path)
  if (model !== kept.transformers) await model.close()
  const {causal} = files.facts
  const planOf = (input?: string[]) => toTunePlan({...flags, causal, input}, estimators)
  const planned = planOf() // flags that make no plan are refused before anything is written
  const directory = folder.output ?? (await services.newRunDirectory('tune', new Date()))
  await makeFolder(directory)
  const [learned, judged] = await Promise.all([
    written(join(directory, 'learned.jsonl'), split.learned),
    written(join(directory, 'judged.jsonl'), split.judged),
  ])
  const {resume, quiet, threads, force, timeout, backend = 'auto'} = flags
  const exported = join(directory, 'layers')
  const request: ExportRequest = {
    ...{model: files.model.folder, texts: learned, maxTexts: split.learned.length, maxTokens},
    ...{layers, output: exported, force: true, backend, threads},
  }
  const own = {directory, resume, quiet, threads, force, timeout}
  const learnAlone = async () => {
    const {layers: arrays} = await services.exportLayers(request, {opened: kept.transformers})
    const plan = planOf(arrays.map(({path}) => path))
    const records = await runs.recordsOf<TuneRecord>(plan, {...own, name: 'learn'})
    requireLearned(records)
    await rm(tunedFileOf(join(directory, 'learn')), {force: true})
    return records
  }
  const learnInTurn = async () =>
    (await import('./learn-in-turn.js')).learnInTurn({
      ...{request, layers: files.facts.layers, planOf, runName: layerRun},
      ...{runs, own, services, requireLearned},
    })
  const records = await (flags.sequential ? learnInTurn() : learnAlone())
  const learnRuns = flags.sequential ? layers.map(layerRun) : ['learn']
  const file = tunedFileOf(directory)
  await saveTuned(records, directory)
  const tuned = await readTuned(file)
  const swapFlags: SwapFlags = {
    ...flags,
    ...{texts: judged, 'max-texts': split.judged.length, 'max-tokens': maxTokens},
    ...{layers: layers.join(), tuned: file, parameters: undefined, yardsticks: undefined},
    ...{methods: [tuned.method], preset: flags.preset && [flags.preset]},
    ...{original: undefined, inputs: undefined},
    replicates: planned.draws,
    projections: tuned.projection === null ? undefined : [tuned.projection],
    'num-features': tuned.numFeatures === null ? undefined : featuresOf(tuned.numFeatures),
  }
  const swap = toSwapPlan(swapFlags, await swapFiles(swapFlags, kept), estimators, tuned)
  kept.transformers?.close()
  const run = await runs.runOf(swap, {...own, name: 'swap'})
  await rm(exported, {recursive: true, force: true})
  return {
    run,
    texts: textsLine(split),
    closing: closingLines(directory, learnRuns, tuned, invocation.argv),
  }
}

/** Flags of layers that learn in turn, which only this program runs. @throws {USAGE} for another engine */
function inTurn<F extends {engine?: EngineChoice | undefined}>(flags: F): F {
  if (flags.engine !== 'transformers') return {...flags, engine: 'native'}
  throw expected('USAGE', '--sequential', '--engine native with it', flags.engine)
}

/** Name of the run of a layer that learns after others. */
function layerRun(layer: number): string {
  return join('learn', `layer${layer}`)
}

/** Texts as the model reads them; without those that it has no token of. */
async function cutTexts(
  model: Pick<TransformersModel, 'tokenize'>,
  texts: readonly string[],
  maxTokens: number,
): Promise<CutText[]> {
  const {batches, order, taken} = await model.tokenize(texts, {maxTokens, least: 1})
  const cut: CutText[] = []
  batches.forEach(({ids, length, lengths}, at) => {
    order[at]!.forEach((place, row) => {
      const own = ids.subarray(row * length, row * length + lengths[row]!)
      cut[place] = {text: texts[taken[place]!]!, ids: [...own]}
    })
  })
  return cut
}

/** @throws {UNSUPPORTED | CELL_CRASHED} where a layer did not learn */
function requireLearned(records: readonly TuneRecord[]): void {
  const [why] = troubleItems(records)
  if (why === undefined) return
  const failed = records.some(({status}) => status === 'failed')
  const what = 'a method that learns in every layer'
  if (!failed) throw expected('UNSUPPORTED', 'tune', what, why)
  throw expected('CELL_CRASHED', 'tune', what, why, '--resume tries again what failed')
}

/** M of what was learned, and the larger one that it is held against; as flags have them. */
function featuresOf(numFeatures: number): number[][] {
  return [[numFeatures], [MORE_FEATURES * numFeatures]]
}

/** Texts as a file, which keeps those of several lines. */
async function written(path: string, texts: readonly string[]): Promise<string> {
  await writeAtomic(path, texts.map(text => `${JSON.stringify({text})}\n`).join(''))
  return path
}

function textsLine({learned, judged}: ReturnType<typeof splitTexts>): string {
  return `Learned on ${plural(learned.length, 'text')}, judged on ${judged.length} others.`
}

/** @param learnRuns - names of the runs in which layers learned */
function closingLines(
  directory: string,
  learnRuns: readonly string[],
  tuned: TunedFile,
  [bin = '']: readonly string[],
): string[] {
  const report = (...names: string[]) => {
    const folders = names.map(name => typeablePath(join(directory, name)))
    return commandText([bin, 'report', ...folders, '--details'])
  }
  const file = tunedFileOf(directory)
  return [
    `learned parameters: ${typeablePath(file)}`,
    `every table: ${report('swap')}`,
    `layer by layer: ${report(...learnRuns)}`,
    ...(runsInTorch(tuned)
      ? [`in PyTorch: rfa.torch.use(model, tuned=${JSON.stringify(file)})`]
      : []),
  ]
}
