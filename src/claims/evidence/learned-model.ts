/** Models with features that every layer has learned by itself, run on texts that nothing was learned from. */
import {mkdir} from 'node:fs/promises'
import {join} from 'node:path'
import {answersOf, verdictOf} from '../../answers/index.js'
import {modelDigest} from '../../experiments/model-digest.js'
import {lossOf, type SwapPlan, swapPlan} from '../../experiments/swap/schema.js'
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

interface Sizes {
  maxTokens: number
  steps: number
}

const SIZES: Record<FollowRequest['effort'], Sizes> = {
  quick: {maxTokens: 64, steps: 20},
  full: {maxTokens: 128, steps: 60},
}
const DRAWS = 6
/** The same in words. */
export const STEPS = `at most ${SIZES.full.steps} steps, ${SIZES.quick.steps} with --quick`
/** Of the encoder, which is 60 times as large. */
const ENCODER = {texts: 40, maxTokens: 64, steps: 60}

interface Asked {
  /** Of the claim: its runs begin with it. */
  id: string
  /** Texts of each half: those that are learned on, and those that the model is judged on. */
  texts: Record<FollowRequest['effort'], number>
  /** all-MiniLM-L6-v2 learns, too, where it is installed and there is time for it. Default: false */
  onMinilm?: boolean
  textsOf(count: number): Promise<{learned: readonly string[]; judged: readonly string[]}>
  /** Where the texts are from that the model is judged on: `other texts`. */
  where: string
  explanation: string
}

export async function packagedTexts(name: string): Promise<readonly string[]> {
  return (await readTexts(packagedFile(name))).texts
}

interface Learner {
  asked: Asked
  /** Names of its runs begin with it. */
  id: string
  folder: string
  sizes: Sizes & {texts: number}
}

function minilmOf({id}: Asked): string {
  return `${id}-minilm`
}

async function learnersOf(asked: Asked, {effort, minilm}: FollowRequest): Promise<Learner[]> {
  const {id, texts, onMinilm} = asked
  const sizes = {texts: texts[effort], ...SIZES[effort]}
  const packaged = {asked, id, folder: packagedFile('charlm'), sizes}
  const folder = onMinilm && effort === 'full' ? await minilm?.() : null
  return [packaged, ...(folder ? [{asked, id: minilmOf(asked), folder, sizes: ENCODER}] : [])]
}

/**
 * Learns every layer, then runs the model with what was learned and without: the loss with it is at most half of the loss without,
 * or it is not.
 */
export function learnedModel(
  asked: Asked,
): Pick<TestedClaim, 'kind' | 'rule' | 'plans' | 'following' | 'judge'> {
  const apart = asked.onMinilm ? '; depends if below in one model and above in the other' : ''
  return {
    kind: 'tested',
    rule: `holds if it is below ${MOST}, beyond chance; refuted if it is above${apart}`,
    plans: () => ({}),
    async following(runs, request): Promise<Record<string, TunePlan | SwapPlan>> {
      const next: Record<string, TunePlan | SwapPlan> = {}
      for (const learner of await learnersOf(asked, request)) {
        const [tuneRun, swapRun] = [`${learner.id}-tune`, `${learner.id}-swap`]
        if (!runs.has(tuneRun)) next[tuneRun] = await learning(learner, request)
        else if (!runs.has(swapRun) && runs.isComplete(tuneRun)) {
          next[swapRun] = await swapping(learner, runs, request)
        }
      }
      return next
    },
    judge: runs => judgement(asked, runs),
  }
}

/** Folder of texts, and of queries, keys and values. */
function inputsOf({id}: Learner, {directory}: FollowRequest): string {
  return join(directory, `${id}-inputs`)
}

/** Learns on queries, keys and values of texts, which are written before. */
async function learning(learner: Learner, request: FollowRequest): Promise<TunePlan> {
  const {seed, exportLayers} = request
  const {asked, folder: model, sizes} = learner
  const {maxTokens, steps} = sizes
  const folder = inputsOf(learner, request)
  const {facts} = await openModel(model)
  const texts = await asked.textsOf(sizes.texts)
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
async function swapping(
  learner: Learner,
  runs: ClaimRuns,
  request: FollowRequest,
): Promise<SwapPlan> {
  const {seed, directory} = request
  const {id, folder, sizes} = learner
  const {maxTokens, texts} = sizes
  const run = join(directory, `${id}-tune`)
  await saveTuned(runs.tune(`${id}-tune`), run)
  const tuned = await readTuned(tunedFileOf(run))
  const {facts} = await openModel(folder)
  const path = join(inputsOf(learner, request), 'judged.txt')
  const {digest} = await readTexts(path)
  return swapPlan.parse({
    experiment: 'swap',
    methods: [FAVOR_POS, {...FAVOR_POS, tuned: tunedSpecOf(tuned)}],
    projections: ['orth'],
    num_features: [FEATURES],
    layer_sets: [Array.from({length: facts.layers}, (_, layer) => layer)],
    model: {folder, digest: await modelDigest(folder)},
    texts: {path, digest, count: texts},
    max_tokens: maxTokens,
    causal: facts.causal,
    ...{replicates: DRAWS, seed},
    backend: 'auto',
  })
}

const NAME = 'loss with learned maps and random vectors over loss without'

/** What is left of the loss of one model. @throws {Unmeasured} where it was not run with and without learning */
function rowOf(id: string, name: string, runs: ClaimRuns) {
  const swapWhere = (learned: boolean) => {
    const record = runs.swap(`${id}-swap`).find(({cell}) => (cell.tuned !== undefined) === learned)
    if (!record) throw new Unmeasured(`there is no swap ${learned ? 'with' : 'without'} learning`)
    return record
  }
  const [plain, tuned] = [swapWhere(false), swapWhere(true)]
  const ratio = ratioOfMeans(damageTable(tuned), damageTable(plain))
  const unit = plain.cell.causal ? 'nats per token' : 'of cosine'
  const [before, after] = [plain, tuned].map(({result}) => significant(lossOf(result).mean))
  return {name, ratio, loses: `${before} ${unit}, and ${after} after learning`}
}

function judgement(asked: Asked, runs: ClaimRuns): Judgement {
  const minilm = minilmOf(asked)
  const rows = [
    rowOf(asked.id, 'the character model', runs),
    ...(runs.has(`${minilm}-tune`) ? [rowOf(minilm, 'MiniLM', runs)] : []),
  ]
  const found = rows.map(({name, ratio, loses}) => {
    const {value, low, high} = ratio.estimate
    return `${name} loses ${loses}: ${significant(value)}x [${significant(low)}, ${significant(high)}]`
  })
  return {
    quantities: rows.map(({name, ratio: {estimate}}) => ({name: `${name}: ${NAME}`, ...estimate})),
    tests: rows.flatMap(({name, ratio}) => testsBelow(`${name}: ${NAME}`, ratio, MOST)),
    decide: rejected => ({
      verdict: verdictOf(answersOf(rejected)),
      statement: `On ${asked.where}, with favor-pos orth M=${FEATURES} in all layers, ${found.join('; ')}`,
      explanation: asked.explanation,
    }),
  }
}
