/** From records to verdicts, with chance accounted for over all claims of a run together. */
import {z} from 'zod'
import {ALPHA, rejections} from '../answers/index.js'
import {nullableNumber} from '../results/record.js'
import {finiteOrNull} from '../stats/index.js'
import {
  type Claim,
  type ClaimVerdict,
  type Judgement,
  OPEN_REASONS,
  type OpenReason,
  type QuotedClaim,
  type TestedClaim,
  VERDICTS,
} from './claim.js'
import {referenceVerdict} from './claims/index.js'
import {type ClaimRuns, Unmeasured} from './runs.js'

const quantity = z.object({
  name: z.string().describe('What it is.'),
  value: nullableNumber.describe('The number.'),
  low: nullableNumber.describe(
    'Lower end of a 95 % interval; `null`: it was computed, not measured.',
  ),
  high: nullableNumber.describe('Upper end of that interval.'),
  expected: nullableNumber.describe(
    'What theory or the paper says; `null`: neither gives a number.',
  ),
})

const test = z.object({
  hypothesis: z.string().describe('What is tested; a small p speaks against it.'),
  p: z.number().describe('Probability of what was seen, or more, if it is true.'),
  adjusted_p: z.number().describe('The same over all tests of the run, by the method of Holm.'),
  rejected: z.boolean().describe(`adjusted_p is below ${ALPHA}.`),
})

/** A claim and its experiment, before anything is run. */
export const claimFacts = z.object({
  id: z.string().describe('The claim.'),
  sentence: z.string().describe('What is claimed.'),
  source: z.string().describe('By which paper.'),
  paper: z.string().describe('Its setting and numbers.'),
  ours: z.string().nullable().describe('Our setting; `null`: nothing here can decide it.'),
  statistic: z.string().nullable().describe('What is computed of the records.'),
  rule: z.string().nullable().describe('Which values make which verdict, fixed beforehand.'),
})

export const claimOutcome = claimFacts.extend({
  verdict: z
    .enum(VERDICTS)
    .describe(
      '`depends`: true under one condition that was tried and not under another; `inconclusive`: these records do not settle it, others may; `not_measurable`: it takes training, hardware or a fused kernel that is not there.',
    ),
  inconclusive_because: z
    .enum(OPEN_REASONS)
    .nullable()
    .default(null)
    .describe(
      'Why it is inconclusive. `busy`: the machine did other work while times were taken; `times`: times are too few, spread too much or are too near the limit; `draws`: there are too few; `cells`: cells failed; `null`: the claim is not inconclusive.',
    ),
  statement: z.string().describe('What was found, in a line.'),
  explanation: z.string().nullable().describe('Why it is so.'),
  quantities: z.array(quantity).describe('The numbers that it rests on.'),
  tests: z.array(test).describe('The tests that it rests on; empty if theory alone decides.'),
  runs: z.array(z.string()).describe('Folders of its runs, below that of the claims.'),
})
export type ClaimOutcome = z.infer<typeof claimOutcome>

/** A tested claim with what its records say, or why they say nothing. */
type Judged = {claim: TestedClaim} & ({judgement: Judgement} | {lacks: Unmeasured})

/** The verdicts on claims, in their order. @param runsOf - names of the runs of a claim */
export async function outcomes(
  claims: readonly Claim[],
  runs: ClaimRuns,
  runsOf: (claim: TestedClaim) => readonly string[],
): Promise<ClaimOutcome[]> {
  const judged = new Map<string, Judged>()
  for (const claim of claims) {
    if (claim.kind === 'tested') judged.set(claim.id, await judgedBy(claim, runs))
  }
  const tests = [...judged.values()].flatMap(one => ('judgement' in one ? one.judgement.tests : []))
  const adjusted = rejections(tests.map(({p}) => p))
  let next = 0
  return claims.map(claim => {
    if (claim.kind === 'quoted') return quoted(claim)
    const judgedClaim = judged.get(claim.id)!
    const count = 'judgement' in judgedClaim ? judgedClaim.judgement.tests.length : 0
    const own = adjusted.slice(next, next + count)
    next += count
    const names = [...runsOf(claim)]
    return {...outcomeOf(judgedClaim, own, runs.openReason(names)), runs: names}
  })
}

async function judgedBy(claim: TestedClaim, runs: ClaimRuns): Promise<Judged> {
  try {
    return {claim, judgement: await claim.judge(runs)}
  } catch (error) {
    if (!(error instanceof Unmeasured)) throw error
    return {claim, lacks: error}
  }
}

/** What to do about an inconclusive claim. */
const REMEDIES: Readonly<Record<OpenReason, string>> = {
  busy: 'the machine was busy: run it again when it is quiet',
  times: 'longer runs may settle it',
  draws: 'a larger run may settle it',
  cells: 'run it again with --resume',
}

/** @param reason - why the runs leave a claim open, should they */
function outcomeOf(
  judged: Judged,
  adjusted: ReturnType<typeof rejections>,
  reason: OpenReason,
): Omit<ClaimOutcome, 'runs'> {
  const facts = factsOf(judged.claim)
  if ('lacks' in judged) {
    const {cells, message} = judged.lacks
    const nothing = {explanation: null, quantities: [], tests: []}
    const verdict = cells === 'skipped' ? 'not_measurable' : 'inconclusive'
    const because = cells === 'failed' ? 'cells' : reason
    return {...facts, ...withReason(verdict, message, because), ...nothing}
  }
  const {quantities, tests, decide} = judged.judgement
  const rejected = adjusted.map(one => one.rejected)
  const {verdict, statement, explanation} = decide(rejected)
  return {
    ...facts,
    ...withReason(verdict, statement, reason),
    explanation,
    quantities: quantities.map(({name, value, low, high, expected}) => ({
      name,
      value: finiteOrNull(value),
      low: finiteOrNull(low),
      high: finiteOrNull(high),
      expected: finiteOrNull(expected),
    })),
    tests: tests.map(({hypothesis, p}, at) => ({
      hypothesis,
      p,
      adjusted_p: adjusted[at]!.p,
      rejected: adjusted[at]!.rejected,
    })),
  }
}

/** A verdict with its statement and, where it is inconclusive, why and what to do. */
function withReason(verdict: ClaimVerdict, statement: string, reason: OpenReason) {
  if (verdict !== 'inconclusive') return {verdict, inconclusive_because: null, statement}
  const whole = `${statement}; ${REMEDIES[reason]}`
  return {verdict, inconclusive_because: reason, statement: whole}
}

/** Claims that are judged both here and in the reference run, and not alike. */
export function differences(claims: readonly ClaimOutcome[]): ClaimOutcome[] {
  const settled = (verdict: ClaimVerdict | undefined) =>
    verdict === 'holds' || verdict === 'depends' || verdict === 'refuted'
  return claims.filter(({id, verdict}) => {
    const reference = referenceVerdict(id)
    return settled(verdict) && settled(reference) && verdict !== reference
  })
}

/**
 * What speaks against a run under `--strict`, a line each: verdicts that differ from those of the reference run, claims that it
 * settles and this run does not, or that nothing was judged. The reference run itself passes.
 */
export function objections(claims: readonly ClaimOutcome[]): string[] {
  const open = claims.filter(
    ({id, verdict}) => verdict === 'inconclusive' && referenceVerdict(id) !== 'inconclusive',
  )
  const judged = claims.some(({verdict}) => verdict !== 'not_measurable')
  return [
    ...differences(claims).map(({id, verdict}) => {
      return `${id}: ${verdict}, in the reference run ${referenceVerdict(id)}`
    }),
    ...(open.length > 0 ? [`inconclusive: ${open.map(({id}) => id).join(', ')}`] : []),
    ...(judged ? [] : ['no claim could be judged']),
  ]
}

function quoted(claim: QuotedClaim): ClaimOutcome {
  return {
    ...factsOf(claim),
    verdict: 'not_measurable',
    inconclusive_because: null,
    statement: `takes ${claim.needs}`,
    explanation: null,
    quantities: [],
    tests: [],
    runs: [],
  }
}

/** What stands in a claim's file, as plain data. */
export function factsOf(claim: Claim): z.infer<typeof claimFacts> {
  return claimFacts.parse({ours: null, statistic: null, rule: null, ...claim})
}
