/** The first screen of a sweep: what was measured, the answer, one table, and where the rest is. */
import {type Block, heading, list, text} from '../../../report/document.js'
import {spanOf} from '../../../report/groups.js'
import {errorWithInterval, plural} from '../../../report/numbers.js'
import {SCREEN_LINES, screenLines} from '../../../report/screen.js'
import {listed} from '../../../report/words.js'
import {LEAST_FOR_INTERVAL} from '../../../stats/index.js'
import {variantLabel} from '../../labels.js'
import {troubleSentences} from '../../trouble.js'
import {type CompletedSweep, type ErrorSweepRecord, replicatesOf} from '../schema.js'
import {isDrawn} from './errors/comparison.js'
import {byError, methodsOf, rankingOf, standingOf, tellsNothing} from './errors/ranking.js'
import {contrastOf, measuredLabel, type Place, placesOf} from './groups/places.js'
import {answerSentences} from './sentences/answer.js'
import {overTexts} from './tables/columns.js'
import {type CutTable, limitsOf, methodsTable} from './tables/methods-table.js'
import {inputNotes, precisionNotes, roundingNotes} from './tables/notes.js'
import {placesTable} from './tables/places-table.js'
import {rowSentence} from './tables/row-columns.js'

/** Rows of a table, and notes. */
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
  const parts: Parts = {
    title: `Error on ${measuredLabel(places)}`,
    sentences: answerSentences(places, rankings).join(' '),
    table: rankings
      ? methodsTable(places, {rankings, limits: limitsOf(completed)}, contrast)
      : placesTable(places),
    legend: legend(places),
    notes: screenNotes(records, completed, places),
  }
  return fitted(parts)
}

/** What a screen is made of. */
interface Parts {
  title: string
  sentences: string
  table: CutTable
  legend: string
  /** The most important first. */
  notes: readonly string[]
}

/** As many rows, then notes, as there is room for. */
function fitted(parts: Parts): Block[] {
  const most = Math.min(MOST_ROWS, parts.table.count)
  const mostNotes = Math.min(MOST_NOTES, parts.notes.length)
  for (const least of [6, 3, 1]) {
    for (let notes = mostNotes; notes >= 0; notes--) {
      for (let rows = most; rows >= Math.min(most, least); rows--) {
        const blocks = blocksOf(parts, rows, notes)
        if (screenLines(blocks) <= SCREEN_LINES) return blocks
      }
    }
  }
  return blocksOf(parts, 1, 0)
}

function blocksOf({title, sentences, table, legend, notes}: Parts, rows: number, most: number) {
  const rest = [...counted(table.count - rows, 'row'), ...counted(notes.length - most, 'note')]
  const more = rest.length > 0 ? [`The details have ${listed(rest)}.`] : []
  return [
    heading(2, title),
    ...(sentences === '' ? [] : [text(sentences)]),
    ...table.blocks(rows),
    text([legend, ...more].join(' ')),
    ...list(notes.slice(0, most).map(shortNote)),
  ]
}

/** `3 more rows`; nothing of none. */
function counted(count: number, noun: string): string[] {
  return count > 0 ? [plural(count, `more ${noun}`)] : []
}

function shortNote(note: string): string {
  return note.length > NOTE ? `${note.slice(0, NOTE - 3)}...` : note
}

/** What to be wary of, the gravest first. */
function screenNotes(
  records: readonly ErrorSweepRecord[],
  completed: readonly CompletedSweep[],
  places: readonly Place[],
): string[] {
  const ofPlaces = [...new Set(places.flatMap(([first]) => inputNotes(first)))]
  return [
    ...troubleSentences(records),
    ...textsNote(places),
    ...ofPlaces,
    ...roundingNotes(completed),
    ...limitNotes(completed),
    ...precisionNotes(completed),
    ...rowMetricsNote(places),
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

/** The mean over texts of the best method of one place. */
function textsNote([first, ...others]: readonly Place[]): string[] {
  if (!first || others.length > 0 || tellsNothing(first)) return []
  const [best] = byError(first.filter(row => standingOf(row) === 'better'))
  const over = best && overTexts(best)
  if (!best || !over) return []
  const draws = isDrawn(best) ? ` and ${plural(replicatesOf(best), 'draw')}` : ''
  const error = errorWithInterval(over.mean, over.low, over.high)
  return [
    `over ${best.result.batch} texts${draws}: ${variantLabel(best.cell)} is ${error} off on average`,
  ]
}

/** What became of the rows of the best method of one place. */
function rowMetricsNote([first, ...others]: readonly Place[]): string[] {
  if (!first || others.length > 0 || tellsNothing(first)) return []
  const [best] = byError(first.filter(row => standingOf(row) === 'better'))
  return best ? rowSentence(best) : []
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
