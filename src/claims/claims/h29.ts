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
import {damageTable} from '../evidence/swaps.js'
import {testsBelow} from '../evidence/tests.js'
import {type ClaimRuns, Unmeasured} from '../runs.js'

/** Runs: what is learned of each layer, and what the model then loses. */
const [TUNE_RUN, SWAP_RUN] = ['h29-tune', 'h29-swap']
/** Folder of texts, and of queries, keys and values. */
const INPUTS = 'h29-inputs'

const FAVOR_POS = {method: 'favor-pos', preset: 'exact' as const, options: {}}
const FEATURES = 64
const RATE = 0.01
/** What may be left of the loss. */
const MOST = 0.5

/** Texts of each half: those that are learned on, and those that the model is judged on. */
const SIZES = {
  quick: {texts: 40, maxTokens: 64, steps: 20, draws: 6},
  full: {texts: 100, maxTokens: 128, steps: 60, draws: 6},
}

async function following(
  runs: ClaimRuns,
  request: FollowRequest,
): Promise<Record<string, TunePlan | SwapPlan>> {
  if (!runs.has(TUNE_RUN)) return {[TUNE_RUN]: await learning(request)}
  if (runs.has(SWAP_RUN) || !runs.isComplete(TUNE_RUN)) return {}
  return {[SWAP_RUN]: await swapping(runs, request)}
}

/** Learns on queries, keys and values of the first texts, which are written before. */
async function learning({effort, seed, directory, exportLayers}: FollowRequest): Promise<TunePlan> {
  const {maxTokens, texts, steps, draws} = SIZES[effort]
  const folder = join(directory, INPUTS)
  const model = packagedFile('charlm')
  const {facts} = await openModel(model)
  const all = (await readTexts(packagedFile('charlm/texts.txt'))).texts
  await mkdir(folder, {recursive: true})
  const [learned, judged] = [join(folder, 'learned.txt'), judgedTexts(directory)]
  await writeAtomic(learned, all.slice(0, texts).join('\n'))
  await writeAtomic(judged, all.slice(-texts).join('\n'))
  await exportLayers({
    ...{model, texts: learned, maxTexts: texts, maxTokens, layers: 'all'},
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
    ...{learn: 'maps,rows', steps, learning_rate: RATE, held_out: 0.2, draws},
    ...{causal: facts.causal, seed},
    backend: 'auto',
  })
}

function judgedTexts(directory: string): string {
  return join(directory, INPUTS, 'judged.txt')
}

/** Exchanges the attention of all layers, as it is and as it was learned, on the other texts. */
async function swapping(
  runs: ClaimRuns,
  {effort, seed, directory}: FollowRequest,
): Promise<SwapPlan> {
  const {maxTokens, texts, draws} = SIZES[effort]
  const run = join(directory, TUNE_RUN)
  await saveTuned(runs.tune(TUNE_RUN), run)
  const tuned = await readTuned(tunedFileOf(run))
  const folder = packagedFile('charlm')
  const {facts} = await openModel(folder)
  const path = judgedTexts(directory)
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
    ...{replicates: draws, seed},
    backend: 'auto',
  })
}

const NAME = 'loss with learned maps and random vectors over loss without'

function judge(runs: ClaimRuns): Judgement {
  const swapWhere = (learned: boolean) => {
    const record = runs.swap(SWAP_RUN).find(({cell}) => (cell.tuned !== undefined) === learned)
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
      statement: `favor-pos orth M=${FEATURES} in all layers loses ${lost(plain)} nats per token, and ${lost(tuned)} after learning: ${significant(value)}x [${significant(low)}, ${significant(high)}]`,
      explanation:
        'Maps of queries and keys make logits smaller where random features cannot follow large ones, and learned vectors lie where queries and keys are. Each layer learns the outputs of exact attention by itself: no gradient passes through the model, and no weight of it changes. What later layers read differs from what they learned on, as the layers before them err.',
    }),
  }
}

export default {
  kind: 'tested',
  id: 'H29',
  sentence: 'Already trained models work with positive features after a little fine-tuning',
  source: 'Choromanski et al. 2021, arXiv:2009.14794, section 4.3',
  paper:
    'a Transformer trained on proteins or LM1B starts low when its attention is exchanged for Performer attention, and recovers its accuracy in a fraction of the original number of steps',
  ours: `the packaged character model of 4 layers, favor-pos orth M = ${FEATURES} in all of them; in place of all weights, maps of queries and keys and the random vectors are learned, layer by layer (rfa tune, at most ${SIZES.full.steps} steps, ${SIZES.quick.steps} with --quick); the model is judged on other texts`,
  statistic:
    'nats per token lost with learned parameters over nats per token lost without, same draws and texts, by Student t along draws and groups of texts',
  rule: `holds if it is below ${MOST}, beyond chance; refuted if it is above`,
  plans: () => ({}),
  following,
  judge,
} satisfies TestedClaim
