/** The first screen of a sweep: what was measured, the answer, one table, and where the rest is. */
import {type Block, heading, list} from '../../../report/document.js'
import {spanOf} from '../../../report/groups.js'
import {errorWithInterval, plural} from '../../../report/numbers.js'
import {fittedScreen} from '../../../report/screen.js'
import {cut, listed} from '../../../report/words.js'
import {LEAST_FOR_INTERVAL} from '../../../stats/index.js'
import {variantLabel} from '../../labels.js'
import {troubleSentences} from '../../trouble.js'
import {type CompletedSweep, type ErrorSweepRecord, replicatesOf} from '../schema.js'
import {isDrawn} from './errors/comparison.js'
import {byError, methodsOf, rankingOf, standingOf, tellsNothing} from './errors/ranking.js'
import {contrastOf, measuredLabel, type Place, placesOf} from './groups/places.js'
import {answerSentences} from './sentences/answer.js'
import {overTexts} from './tables/columns.js'
import {limitsOf} from './tables/limits.js'
import {methodsTable} from './tables/methods-table.js'
import {inputNotes, precisionNotes, roundingNotes} from './tables/notes.js'
import {placesTable} from './tables/places-table.js'
import {rowSentence} from './tables/row-columns.js'

const [MOST_ROWS, MOST_NOTES] = [9, 3]

/** Characters of a note. */
const NOTE = 150

/** The blocks of the first screen: at most 20 lines of 80 columns. */
export function errorSweepScreen(records: readonly ErrorSweepRecord[]): Block[] {
  const completed = records.filter(record => record.status === 'completed')
  const places = placesOf(completed)
  const [first] = places
  if (!first) return list(troubleSentences(records))
  const contrast = contrastOf(places)
  const rankings = contrast || places.length === 1 ? places.map(rankingOf) : undefined
  const table = rankings
    ? methodsTable(places, {rankings, limits: limitsOf(completed)}, contrast)
    : placesTable(places)
  const notes = screenNotes(records, completed, places)
  return fittedScreen({
    title: heading(2, `Error on ${measuredLabel(places)}`),
    answer: answerSentences(places, rankings),
    rows: Math.min(MOST_ROWS, table.count),
    table(rows, noted) {
      const rest = [...counted(table.count - rows, 'row'), ...counted(notes.length - noted, 'note')]
      const more = rest.length > 0 ? [`The details have ${listed(rest)}.`] : []
      return {blocks: table.blocks(rows), below: [legend(places), ...more]}
    },
    notes: notes.slice(0, MOST_NOTES).map(note => cut(note, NOTE)),
    yielding: true,
  })
}

/** `3 more rows`; nothing of none. */
function counted(count: number, noun: string): string[] {
  return count > 0 ? [plural(count, `more ${noun}`)] : []
}

/** What to be wary of, the gravest first. */
function screenNotes(
  records: readonly ErrorSweepRecord[],
  completed: readonly CompletedSweep[],
  places: readonly Place[],
): string[] {
  const best = bestOf(places)
  const ofPlaces = [...new Set(places.flatMap(([first]) => inputNotes(first)))]
  return [
    ...troubleSentences(records),
    ...textsNote(best),
    ...ofPlaces,
    ...roundingNotes(completed),
    ...limitNotes(completed),
    ...precisionNotes(completed),
    ...(best ? rowSentence(best) : []),
  ]
}

/** Methods that were compared with their limit only, where others were compared with softmax. */
function limitNotes(completed: readonly CompletedSweep[]): string[] {
  const [raw, matched] = ['raw', 'matched'].map(target =>
    methodsOf(completed.filter(({cell}) => cell.target === target)),
  ) as [string[], string[]]
  const alone = matched.filter(name => !raw.includes(name))
  if (raw.length === 0 || alone.length === 0) return []
  return [`${listed(alone)}: only compared with what they converge to; see the details`]
}

/** The best method of one place. */
function bestOf([first, ...others]: readonly Place[]): CompletedSweep | undefined {
  if (!first || others.length > 0 || tellsNothing(first)) return undefined
  return byError(first.filter(row => standingOf(row) === 'better'))[0]
}

/** Its mean over texts. */
function textsNote(best: CompletedSweep | undefined): string[] {
  const over = best && overTexts(best)
  if (!over) return []
  const draws = isDrawn(best) ? ` and ${plural(replicatesOf(best), 'draw')}` : ''
  const error = errorWithInterval(over.mean, over.low, over.high)
  return [
    `over ${best.result.batch} texts${draws}: ${variantLabel(best.cell)} is ${error} off on average`,
  ]
}

/** What the numbers of the table are. */
function legend(places: readonly Place[]): string {
  const rows = places.flat()
  const counts = spanOf(rows.filter(isDrawn).map(replicatesOf))
  const isInterval = counts[0] >= LEAST_FOR_INTERVAL
  const texts =
    places.length === 1 && rows.some(overTexts) ? ` on these ${rows[0]!.result.batch} texts` : ''
  const draws = `${isInterval ? '95 % interval' : 'range'} over ${[...new Set(counts)].join(' to ')} draws`
  const drawn = counts[1] === 1 ? '1 draw: no interval' : draws
  const over = rows.some(isDrawn) ? `, ${drawn}${texts}` : ''
  const vectors = rows.some(({cell}) => cell.num_features !== null) ? ' M: random vectors.' : ''
  return `Error: |estimate-exact|/|exact|${over}.${vectors}`
}
