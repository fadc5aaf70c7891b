import {answersOf, verdictOf} from '../../answers/index.js'
import type {CallShape, Estimator} from '../../attention/index.js'
import {loadEstimators, resolveOptions} from '../../attention/names.js'
import type {TimedRecord} from '../../experiments/bench/schema.js'
import {significant} from '../../report/numbers.js'
import type {Judgement, PlanRequest, TestedClaim} from '../claim.js'
import {testsBetween} from '../evidence/tests.js'
import {ofMethod, ratiosText, timeRatios} from '../evidence/times.js'
import {benchPlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

const RUN = 'h28-reformer'
const [REFORMER, PERFORMER] = ['reformer', 'favor-pos'] as const
/** As both were released: eight rounds of chunks of 64 tokens, keys counted in each; 256 random vectors. */
const OPTIONS = {rounds: 8, chunkSize: 64, duplicates: 'every-round'}
const VECTORS = 256
const HEAD = {heads: 1, head_dim: 64, value_dim: 64}
/** Tokens of the paper's images. */
const PAPER_LENGTH = 12_288

/** Rates of work that differ by more than this factor are those of programs, not of methods. */
const COMPARABLE = 4
/** Factors that count as "about twice". */
const [LEAST, MOST] = [1.4, 2.8]

function plans(request: PlanRequest) {
  const quick = request.effort === 'quick'
  const axes = {methods: [PERFORMER], numFeatures: [VECTORS], lengths: [quick ? 128 : 1024]}
  const plan = benchPlanOf(axes, request)
  const timing = {...plan.timing, warmup_runs: 1, min_runs: quick ? 12 : 25}
  const reformer = {method: REFORMER, preset: 'exact' as const, options: OPTIONS}
  return {[RUN]: {...plan, ...HEAD, causal: true, methods: [...plan.methods, reformer], timing}}
}

/** Operations of Reformer over those of positive features at the length of the paper, counted. */
async function countedRatio(): Promise<number> {
  const estimators = await loadEstimators()
  const shape: CallShape = {
    batch: 1,
    heads: HEAD.heads,
    queryLen: PAPER_LENGTH,
    keyLen: PAPER_LENGTH,
    headDim: HEAD.head_dim,
    valueDim: HEAD.value_dim,
    numFeatures: VECTORS,
    causal: true,
  }
  const flops = (estimator: Estimator, options: Record<string, unknown>) =>
    estimator.cost(shape, resolveOptions(estimator, 'exact', options)).flops
  return flops(estimators[REFORMER], OPTIONS) / flops(estimators[PERFORMER], {})
}

/** Operations in a nanosecond: GFLOP/s. */
const rateOf = ({result}: TimedRecord) => result.work_flops / result.median_ns

async function judge(runs: ClaimRuns): Promise<Judgement> {
  const records = runs.timed(RUN)
  // every run has one length
  const reformer = ofMethod(records, REFORMER)[0]!
  const performer = ofMethod(records, PERFORMER)[0]!
  const row = timeRatios(runs.times, records, REFORMER, PERFORMER)[0]!
  const {ratio} = row
  const [slow, fast] = [rateOf(reformer), rateOf(performer)]
  const counted = await countedRatio()
  const comparable = Math.max(slow / fast, fast / slow) <= COMPARABLE
  const length = reformer.cell.seq_len
  const work = `counted operations of Reformer at ${PAPER_LENGTH} tokens: ${counted.toFixed(1)} times those of positive features`
  return {
    quantities: [
      {name: `time of Reformer over positive features, L = ${length}`, ...ratio, expected: 2},
      {name: 'rate of Reformer, GFLOP/s', value: slow},
      {name: 'rate of positive features, GFLOP/s', value: fast},
      {name: `operations of Reformer over positive features, L = ${PAPER_LENGTH}`, value: counted},
    ],
    tests: comparable ? testsBetween('it', ratio, [LEAST, MOST]) : [],
    decide(rejected) {
      const answers = answersOf(rejected)
      const rates = `Reformer works at ${significant(slow, 2)} GFLOP/s, positive features at ${significant(fast, 2)}`
      return {
        verdict: comparable ? verdictOf(answers) : 'not_measurable',
        statement: comparable
          ? `${ratiosText([row], answers)} tokens; ${work}`
          : `times would compare programs (${rates}); ${work}`,
        explanation:
          'A ratio of times compares methods only if both programs are about equally optimised. Here Reformer consists of small operations (sorting, gathering, masks), while positive features have a fused kernel. Counted work can be compared; it leaves out sorting and moving tokens. It does not depend on the machine, and is proportional to rounds, chunks and the number of vectors.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H28',
  sentence: 'Performer is twice as fast as Reformer',
  source: 'Choromanski et al. 2021, arXiv:2009.14794',
  paper: 'up to 2x, depending on hardware, causal, in a model of images of 12288 tokens',
  ours: 'causal forward passes of one head of 64 on one thread; 8 rounds of chunks of 64 tokens against 256 random vectors, at a length at which Reformer ends within seconds',
  statistic:
    'ratio of times, process by process, by a t test of its logarithm; rates of counted operations; ratio of counted operations at the length of the paper',
  rule: `not measurable while one side does more than ${COMPARABLE} times the operations per second of the other; else holds if the ratio of times is between ${LEAST} and ${MOST}, refuted if it is outside, beyond chance`,
  plans,
  judge,
} satisfies TestedClaim
