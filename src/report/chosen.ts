/** Tables of a report with the columns that were asked for, or with the values of one of them side by side. */
import {expected, unknownName} from '../errors.js'
import {type Block, shownForm, type TableBlock} from './document.js'
import {MISSING} from './numbers.js'

export interface Choice {
  /** Titles of columns, in order. */
  columns?: readonly string[] | undefined
  /** Title of the column with values that become columns; the last of `columns` is what stands in them. */
  pivot?: string | undefined
  /** Keep figures, too, under the title of their run. Default: tables alone. */
  figures?: boolean | undefined
}

/** Fields of records that tables have as letters. */
const LETTERS: Readonly<Record<string, string>> = {
  numfeatures: 'm',
  featuredim: 'f',
  seqlen: 'l',
  headdim: 'd',
}

/**
 * The tables that have all columns asked for, under their headings; everything else is left out.
 *
 * @throws {UNKNOWN_NAME} for a column that no table has
 * @throws {USAGE} where no table has all, the last is the pivot, or rows of a pivot differ in other columns
 */
export function chosenTables(
  blocks: readonly Block[],
  {columns = [], pivot, figures = false}: Choice,
): readonly Block[] {
  if (columns.length === 0) return blocks
  const isPivot = (name: string) => pivot !== undefined && keyOf(name) === keyOf(pivot)
  const wanted = pivot === undefined || columns.some(isPivot) ? columns : [pivot, ...columns]
  requireKnown(blocks, wanted, pivot)
  if (isPivot(wanted.at(-1)!)) throw noValueOf(wanted)
  let headings: Block[] = []
  const chosenOf = (block: Block): Block | undefined => {
    if (block.kind === 'figure' && figures) return block
    if (block.kind !== 'table' || block.rows.length === 0) return undefined
    const places = wanted.map(name => placeOf(block, name))
    if (places.includes(-1)) return undefined
    return pivot === undefined ? picked(block, places) : pivoted(block, wanted, pivot)
  }
  const chosen = blocks.flatMap((block): Block[] => {
    if (block.kind === 'heading') {
      headings = [...headings.filter(one => 'level' in one && one.level < block.level), block]
    }
    const kept = chosenOf(block)
    if (!kept) return []
    const above = headings
    headings = []
    return [...above, kept]
  })
  if (chosen.some(({kind}) => kind === 'table')) return chosen
  const remedy = `tables with ${wanted[0]} have ${neighbours(blocks, wanted[0]!).join(', ')}`
  throw expected('USAGE', '--columns', 'columns of one table', wanted.join(', '), remedy)
}

function requireKnown(blocks: readonly Block[], wanted: readonly string[], pivot?: string): void {
  const tables = blocks.filter(block => block.kind === 'table')
  for (const name of wanted) {
    if (tables.some(block => placeOf(block, name) >= 0)) continue
    const flag = name === pivot ? '--pivot' : '--columns'
    throw unknownName(flag, 'columns', name, [...new Set(tables.flatMap(titlesOf))])
  }
}

function neighbours(blocks: readonly Block[], name: string): string[] {
  const tables = blocks.filter(block => block.kind === 'table' && placeOf(block, name) >= 0)
  return [...new Set(tables.flatMap(block => (block.kind === 'table' ? titlesOf(block) : [])))]
}

/** Titles of a table, each on one line. */
export function titlesOf({columns}: TableBlock): string[] {
  return columns.map(({title}) => title.replaceAll(/\s+/g, ' '))
}

/** Every title that a column of these tables can have, with any choice of columns and any pivot. */
export function possibleTitles(blocks: readonly Block[]): string[] {
  const tables = blocks.filter(block => block.kind === 'table')
  const titles = tables.flatMap(block => [
    ...[...titlesOf(block), ...titlesOf(shownForm(block))],
    ...titlesOf(block).flatMap((title, at) => block.rows.map(row => pivotTitle(title, row[at]!))),
  ])
  return [...new Set(titles)]
}

/** Names with the same key are of the same column. */
function keyOf(name: string): string {
  const plain = name.toLowerCase().replaceAll(/[\s_-]/g, '')
  return LETTERS[plain] ?? plain
}

function placeOf(block: TableBlock, name: string): number {
  return titlesOf(block).findIndex(title => keyOf(title) === keyOf(name))
}

function picked({columns, rows, all}: TableBlock, places: readonly number[]): TableBlock {
  return {
    ...{kind: 'table', everything: true, columns: places.map(place => columns[place]!)},
    rows: rows.map(row => places.map(place => row[place]!)),
    ...(all !== undefined && {all}),
  }
}

/** @param wanted - the pivot among them, the last is the value */
function pivoted(block: TableBlock, wanted: readonly string[], pivot: string): TableBlock {
  const [field, value] = [placeOf(block, pivot), placeOf(block, wanted.at(-1)!)]
  const keys = wanted.slice(0, -1).flatMap(name => {
    const place = placeOf(block, name)
    return place === field ? [] : [place]
  })
  const names = [...new Set(block.rows.map(row => row[field]!))]
  const lines = new Map<string, {own: string[]; values: Map<string, string>}>()
  for (const row of block.rows) {
    const own = keys.map(key => row[key]!)
    const line = lines.get(own.join('\n')) ?? {own, values: new Map<string, string>()}
    lines.set(own.join('\n'), line)
    if (line.values.has(row[field]!)) throw severalIn(block, wanted, [...own, row[field]!])
    line.values.set(row[field]!, row[value]!)
  }
  const plain = ({short, best, ...column}: TableBlock['columns'][number]) => column
  const title = titlesOf(block)[field]!
  return {
    ...{kind: 'table', everything: true, labels: keys.length},
    columns: [
      ...keys.map(key => plain(block.columns[key]!)),
      ...names.map(name => ({...plain(block.columns[value]!), title: pivotTitle(title, name)})),
    ],
    rows: [...lines.values()].map(({own, values}) => [
      ...own,
      ...names.map(name => values.get(name) ?? ''),
    ]),
  }
}

/** What a value of a column is called above a column: `M=16`, `layer 3`, `no M`; a word says itself what it is. */
function pivotTitle(title: string, value: string): string {
  if (value === MISSING || value === '') return `no ${title}`
  return /^[-\d.]/.test(value) ? `${title}${/^[A-Z]$/.test(title) ? '=' : ' '}${value}` : value
}

function noValueOf(wanted: readonly string[]) {
  const pivot = wanted.at(-1)!
  const rest = wanted.filter(name => keyOf(name) !== keyOf(pivot))
  const columns = [...rest.slice(0, -1), pivot, rest.at(-1) ?? 'NAME']
  const remedy = `write --columns "${columns.join(',')}" --pivot "${pivot}"`
  const last = 'a last column other than that of --pivot, to stand in its columns'
  return expected('USAGE', '--columns', last, wanted.join(', '), remedy)
}

function severalIn(block: TableBlock, wanted: readonly string[], place: readonly string[]) {
  const keys = wanted.map(keyOf)
  const others = titlesOf(block).filter(title => !keys.includes(keyOf(title)))
  const remedy = `add a column that distinguishes them: ${others.join(', ')}`
  return expected('USAGE', '--pivot', `one row for ${place.join(', ')}`, 'several', remedy)
}
