/** The first screen of verdicts: how many of each, what was refuted, then a line for each claim. */
import {type Block, list, table, text} from '../../report/document.js'
import {listed} from '../../report/words.js'
import {type ClaimVerdict, IN_DECODER} from '../claim.js'
import {referenceVerdict, titleOf} from '../claims/index.js'
import {type ClaimOutcome, differences} from '../outcome.js'
import {countsText, outcomeText, VERDICT_WORDS} from './report.js'

const WIDTH = 80
/** Refuted claims that are shown in full. */
const MOST_IN_FULL = 3
/** Lines of the screen come in this order. */
const ORDER: readonly ClaimVerdict[] = ['refuted', 'inconclusive', 'depends', 'holds']

/**
 * At most 38 lines of 80 columns for all claims, and 44 where H1 and H2 also have a whole decoder: counts, refuted claims in full, then each claim with its number in a line.
 * Claims that take training or hardware have one line together.
 */
export function claimsScreen(outcomes: readonly ClaimOutcome[]): Block[] {
  const judged = ORDER.flatMap(verdict => outcomes.filter(one => one.verdict === verdict))
  const refuted = judged.filter(({verdict}) => verdict === 'refuted')
  const others = outcomes.filter(({verdict}) => verdict === 'not_measurable').map(({id}) => id)
  const inFull = refuted.length <= MOST_IN_FULL ? refuted : []
  const rows = judged.filter(one => !inFull.includes(one))
  return [
    text(`${claimsText(outcomes.length)}: ${countsText(outcomes)}`),
    ...list(inFull.map(outcomeText)),
    ...(rows.length > 0 ? [verdictTable(rows)] : []),
    ...notes(outcomes, {others, rows}),
  ]
}

function claimsText(count: number): string {
  return count === 1 ? 'One claim' : `${count} claims`
}

function verdictTable(rows: readonly ClaimOutcome[]): Block {
  const widest = (texts: readonly string[]) => Math.max(...texts.map(({length}) => length))
  const ids = widest(['claim', ...rows.map(({id}) => id)])
  const verdicts = widest(['verdict', ...rows.map(({verdict}) => VERDICT_WORDS[verdict])])
  const room = WIDTH - ids - verdicts - 4
  return table(
    [
      {title: 'claim', align: 'left', cell: ({id}) => id},
      {title: 'verdict', align: 'left', cell: ({verdict}) => VERDICT_WORDS[verdict]},
      {title: 'what it says, and what was found', align: 'left', cell: row => lineOf(row, room)},
    ],
    rows,
  )
}

/** What a whole decoder gains, what cannot be judged here, and what the reference run judges otherwise. */
function notes(
  outcomes: readonly ClaimOutcome[],
  {others, rows}: {others: readonly string[]; rows: readonly ClaimOutcome[]},
): Block[] {
  const changed = differences(outcomes).map(({id}) => {
    return `${id} (there: ${VERDICT_WORDS[referenceVerdict(id)!]})`
  })
  return list([
    ...rows.flatMap(decoderNote),
    ...(others.length > 0
      ? [`not measurable here: ${others.join(', ')}; the details say what each takes`]
      : []),
    ...(changed.length > 0 ? [`unlike the reference run: ${listed(changed, 4)}`] : []),
  ])
}

/** `H2 is judged by the speed-up of the attention alone: 20.4x [19.2, 21.6] at 2048 tokens; for a whole decoder: 1.2x [1.1, 1.3] at 2048`. */
function decoderNote({id, statement, inconclusive_because: open}: ClaimOutcome): string[] {
  if (open === 'busy' || !statement.includes(IN_DECODER)) return []
  return [`${id} is ${statement.split('; ').map(firstAndLast).join('; ')}`]
}

/** `RFA decodes 12 times as fast: 20.4x at 2048 tokens`. */
function lineOf(
  {id, sentence, statement, inconclusive_because: open}: ClaimOutcome,
  room: number,
): string {
  const title = titleOf(id) ?? cut(sentence, room / 2)
  const answer = open === 'busy' ? 'machine busy' : shortened(statement, room - title.length - 2)
  return `${title}: ${answer}`
}

/**
 * As much of a statement as there is room for, without intervals: all of it, or else without the words before its numbers, or
 * else its first part, or the first and the last of its numbers.
 */
export function shortened(statement: string, room: number): string {
  const plain = statement.replaceAll(/ \[[^\]]*\]/g, '')
  const numbers = plain.replace(/^[^:;,]*: /, '')
  const [first = ''] = numbers.split('; ')
  const forms = [plain, numbers, first, firstAndLast(first)]
  return forms.find(form => form.length <= room) ?? cut(first, room)
}

/** `1.86x at 784 to 1.67x at 3136`, of numbers at several places, with their intervals where they have them. */
function firstAndLast(part: string): string {
  const numbers = part.replace(/ tokens$/, '').split(/, (?![^[]*\])/)
  const alike = numbers.length > 2 && numbers.every(one => / at \d+$/.test(one))
  return alike ? `${numbers[0]} to ${numbers.at(-1)}` : part
}

/** Whole parts of a sentence, or else whole words; three dots stand for the rest. */
function cut(words: string, room: number): string {
  if (words.length <= room) return words
  const head = words.slice(0, room - 3)
  const end = Math.max(head.lastIndexOf(', '), head.lastIndexOf(' ('))
  return end > room / 2
    ? `${words.slice(0, end)} ...`
    : `${head.slice(0, head.lastIndexOf(' '))} ...`
}
