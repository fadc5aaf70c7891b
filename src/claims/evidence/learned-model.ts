/** The packaged model with features that every layer has learned by itself, run on texts that nothing was learned from. */
import {mkdir} from 'node:fs/promises'
import {join} from 'node:path'
import {answersOf, verdictOf} from '../../answers/index.js'
import {modelDigest} from '../../experiments/model-digest.js'
import {type SwapPlan, swapPlan} from '../../experiments/swap/schema.js'
import {saveTuned, tunedFileOf} from '../../experiments/tune/save.js'
import {type TunePlan, tunePlan} from '../../experiments/tune/schema.js'
import {writeAtomic} from '../../files.js'
import {packagedFile} from '../../inputs/packaged.js'
import {readTexts} from '../../inputs/texts.js'
import {openModel} from '../../model/index.js'
import {significant} from '../../report/numbers.js'
import {ratioOfMeans} from '../../stats/index.js'
import {readTuned, tunedSpecOf} from '../../tuned/index.js'
import type {FollowRequest, Judgement, TestedClaim} from '../claim.js'
import {type ClaimRuns, Unmeasured} from '../runs.js'
import {damageTable} from './swaps.js'
import {testsBelow} from './tests.js'

const FAVOR_POS = {method: 'favor-pos', preset: 'exact' as const, options: {}}
export const FEATURES = 64
const RATE = 0.01
/** What may be left of the loss. */
const MOST = 0.5

/** How much is learned. */
const SIZES = {quick: {maxTokens: 64, steps: 20}, full: {maxTokens: 128, steps: 60}}
const DRAWS = 6
/** The same in words. */
export const STEPS = `at most ${SIZES.full.steps} steps, ${SIZES.quick.steps} with --quick`

/** A claim on what learning gives. */
interface Asked {
  /** Of the claim: its runs begin with it. */
  id: string
  /** Texts of each half: those that are learned on, and those that the model is judged on. */
  texts: Record<FollowRequest['effort'], number>
  textsOf(count: number): Promise<{learned: readonly string[]; judged: readonly string[]}>
  /** Where the texts are from that the model is judged on: `other texts`. */
  where: string
  explanation: string
}

/** Texts of a packaged file. */
export async function packagedTexts(name: string): Promise<readonly string[]> {
  return (await readTexts(packagedFile(name))).texts
}

/**
 * Learns every layer, then runs the model with what was learned and without: the loss with it is at most half of the loss without,
 * or it is not.
 */
export function learnedModel(
  asked: Asked,
): Pick<TestedClaim, 'kind' | 'rule' | 'plans' | 'following' | 'judge'> {
  const [tuneRun, swapRun] = [`${asked.id}-tune`, `${asked.id}-swap`]
  return {
    kind: 'tested',
    rule: `holds if it is below ${MOST}, beyond chance; refuted if it is above`,
    plans: () => ({}),
    async following(runs, request): Promise<Record<string, TunePlan | SwapPlan>> {
      if (!runs.has(tuneRun)) return {[tuneRun]: await learning(asked, request)}
      if (runs.has(swapRun) || !runs.isComplete(tuneRun)) return {}
      return {[swapRun]: await swapping(asked, runs, request)}
    },
    judge: runs => judgement(asked, runs),
  }
}

/** Folder of texts, and of queries, keys and values. */
function inputsOf({id}: Asked, {directory}: FollowRequest): string {
  return join(directory, `${id}-inputs`)
}

/** Learns on queries, keys and values of texts, which are written before. */
async function learning(asked: Asked, request: FollowRequest): Promise<TunePlan> {
  const {effort, seed, exportLayers} = request
  const {maxTokens, steps} = SIZES[effort]
  const folder = inputsOf(asked, request)
  const model = packagedFile('charlm')
  const {facts} = await openModel(model)
  const texts = await asked.textsOf(asked.texts[effort])
  await mkdir(folder, {recursive: true})
  const learned = join(folder, 'learned.txt')
  await writeAtomic(learned, texts.learned.join('\n'))
  await writeAtomic(join(folder, 'judged.txt'), texts.judged.join('\n'))
  await exportLayers({
    ...{model, texts: learned, maxTexts: texts.learned.length, maxTokens, layers: 'all'},
    ...{output: folder, force: true, backend: 'auto'},
  })
  const files = Array.from({length: facts.layers}, (_, layer) => `layer${layer}.safetensors`)
  return tunePlan.parse({
    experiment: 'tune',
    input: {
      kind: 'file',
      paths: files.map(name => join(folder, name)),
      names: {query: 'q', key: 'k', value: 'v'},
    },
    layers: 'all',
    methods: [FAVOR_POS],
    projections: ['orth'],
    num_features: [FEATURES],
    ...{learn: 'maps,rows', steps, learning_rate: RATE, held_out: 0.2, draws: DRAWS},
    ...{causal: facts.causal, seed},
    backend: 'auto',
  })
}

/** Exchanges the attention of all layers, as it is and as it was learned, on the other texts. */
async function swapping(asked: Asked, runs: ClaimRuns, request: FollowRequest): Promise<SwapPlan> {
  const {effort, seed, directory} = request
  const run = join(directory, `${asked.id}-tune`)
  await saveTuned(runs.tune(`${asked.id}-tune`), run)
  const tuned = await readTuned(tunedFileOf(run))
  const folder = packagedFile('charlm')
  const {facts} = await openModel(folder)
  const path = join(inputsOf(asked, request), 'judged.txt')
  const {digest} = await readTexts(path)
  return swapPlan.parse({
    experiment: 'swap',
    methods: [FAVOR_POS, {...FAVOR_POS, tuned: tunedSpecOf(tuned)}],
    projections: ['orth'],
    num_features: [FEATURES],
    layer_sets: [Array.from({length: facts.layers}, (_, layer) => layer)],
    model: {folder, digest: await modelDigest(folder)},
    texts: {path, digest, count: asked.texts[effort]},
    max_tokens: SIZES[effort].maxTokens,
    causal: facts.causal,
    ...{replicates: DRAWS, seed},
    backend: 'auto',
  })
}

const NAME = 'loss with learned maps and random vectors over loss without'

function judgement({id, where, explanation}: Asked, runs: ClaimRuns): Judgement {
  const swapWhere = (learned: boolean) => {
    const record = runs.swap(`${id}-swap`).find(({cell}) => (cell.tuned !== undefined) === learned)
    if (!record) throw new Unmeasured(`there is no swap ${learned ? 'with' : 'without'} learning`)
    return record
  }
  const [plain, tuned] = [swapWhere(false), swapWhere(true)]
  const ratio = ratioOfMeans(damageTable(tuned), damageTable(plain))
  const {value, low, high} = ratio.estimate
  const lost = ({result}: typeof plain) => significant(result.causal_effects?.nats_added.mean)
  return {
    quantities: [{name: NAME, value, low, high}],
    tests: testsBelow(NAME, ratio, MOST),
    decide: rejected => ({
      verdict: verdictOf(answersOf(rejected)),
      statement: `On ${where}, favor-pos orth M=${FEATURES} in all layers loses ${lost(plain)} nats per token, and ${lost(tuned)} after learning: ${significant(value)}x [${significant(low)}, ${significant(high)}]`,
      explanation,
    }),
  }
}
