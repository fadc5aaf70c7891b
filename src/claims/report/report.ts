/** Verdicts on claims as tables and paragraphs. */
import {type Block, heading, list, table, text} from '../../report/document.js'
import {MISSING, significant} from '../../report/numbers.js'
import type {Claim, ClaimVerdict} from '../claim.js'
import type {ClaimOutcome} from '../outcome.js'

/** Verdicts as headings and counts have them. */
export const VERDICT_WORDS: Record<ClaimVerdict, string> = {
  holds: 'holds',
  refuted: 'refuted',
  depends: 'depends',
  inconclusive: 'inconclusive',
  not_measurable: 'not measurable here',
}
/** Behind a number of inconclusive claims. */
const BUSY = 'because the machine was busy: run again when it is quiet'
/** Of several claims. */
const PLURALS = {...VERDICT_WORDS, holds: 'hold', depends: 'depend'}

/** All verdicts in a table, then why, claim by claim. @param title - of the report */
export function claimsReport(outcomes: readonly ClaimOutcome[], title = 'Claims'): Block[] {
  return [
    heading(1, title),
    table(
      [
        {title: 'claim', align: 'left', cell: ({id}) => id},
        {title: 'verdict', align: 'left', cell: ({verdict}) => VERDICT_WORDS[verdict]},
        // a narrow terminal has it below, claim by claim
        {title: 'sentence', flexible: true, priority: 2, cell: ({sentence}) => sentence},
        {title: 'found', flexible: true, cell: ({statement}) => statement},
      ],
      outcomes,
    ),
    ...outcomes.flatMap(why),
    text(
      `${countsText(outcomes)} Values of p are adjusted over all claims of the run, by the method of Holm.`,
    ),
  ]
}

/** `H2 holds: RFA decodes twelve times as fast. Found: 20.4x [19.2, 21.6].` The sentence of the screen and of pages. */
export function outcomeText({id, verdict, sentence, statement}: ClaimOutcome): string {
  return `${id} ${VERDICT_WORDS[verdict]}: ${sentence}. Found: ${statement}`
}

/** Why, and with which numbers; nothing of a claim that nothing was run for. */
function why({id, sentence, verdict, explanation, quantities, tests}: ClaimOutcome): Block[] {
  if (explanation === null) return []
  return [
    heading(2, `${id}: ${VERDICT_WORDS[verdict]}`),
    text(`${sentence}. ${explanation}`),
    table(
      [
        {title: 'number', flexible: true, cell: ({name}) => name},
        {title: 'value', cell: ({value}) => significant(value)},
        {
          title: '95 % interval',
          cell: ({low, high}) =>
            low === null || high === null ? MISSING : `${significant(low)} to ${significant(high)}`,
          sparse: true,
        },
        {title: 'theory or paper', cell: ({expected}) => significant(expected), sparse: true},
      ],
      quantities,
    ),
    ...list(testLines(tests)),
  ]
}

/** What was rejected; of all tests claims.json has the numbers. */
function testLines(tests: ClaimOutcome['tests']): string[] {
  const rejected = tests.filter(test => test.rejected)
  if (tests.length > 0 && rejected.length === 0) return ['no hypothesis was rejected']
  return rejected.map(
    ({hypothesis, adjusted_p}) => `rejected: ${hypothesis} (p = ${significant(adjusted_p)})`,
  )
}

/** `3 hold, 2 refuted, 2 inconclusive (1 because the machine was busy: run again when it is quiet).` */
export function countsText(outcomes: readonly ClaimOutcome[]): string {
  const busy = outcomes.filter(one => one.inconclusive_because === 'busy').length
  const counts = (Object.keys(VERDICT_WORDS) as ClaimVerdict[]).map(verdict => {
    const count = outcomes.filter(one => one.verdict === verdict).length
    const share = busy === count ? ` (${BUSY})` : ` (${busy} ${BUSY})`
    const why = verdict === 'inconclusive' && busy > 0 ? share : ''
    return {count, words: `${(count === 1 ? VERDICT_WORDS : PLURALS)[verdict]}${why}`}
  })
  const parts = counts.filter(({count}) => count > 0).map(({words, count}) => `${count} ${words}`)
  return `${parts.join(', ')}.`
}

/** The experiment behind a claim, before anything is run. */
export function explanation(claim: Claim): Block[] {
  const items =
    claim.kind === 'tested'
      ? [
          `the paper: ${claim.paper}`,
          `here: ${claim.ours}`,
          `statistic: ${claim.statistic}`,
          `rule: ${claim.rule}`,
        ]
      : [`the paper: ${claim.paper}`, `not measurable here: it takes ${claim.needs}`]
  return [heading(2, `${claim.id}: ${claim.sentence}`), text(claim.source), ...list(items)]
}
