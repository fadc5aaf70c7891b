/** Tables of a report for papers written in LaTeX, by the package booktabs. */
import {bestLegend} from './best.js'
import {type Block, rowsLeftOut, shownForm, type TableBlock} from './document.js'
import {printable} from './printable.js'

/** First line of every file: what may be replaced without asking. */
export const TEX_MARK = '% written by rfa report'

/** A table as a separate file. */
export interface LatexTable {
  /** Of its file, without extension: small letters, digits and hyphens; unique in a report. */
  name: string
  text: string
}

/** All tables of a report as LaTeX. */
export function latexTables(blocks: readonly Block[]): LatexTable[] {
  return namedTables(blocks).map(({block, ...own}) => ({
    name: own.name,
    text: latexTable(block, own),
  }))
}

/** All tables of a report, each with the headings above it as its caption, but for that of the run. */
export function namedTables(
  blocks: readonly Block[],
): {name: string; caption: string; block: TableBlock}[] {
  const taken = new Map<string, number>()
  let headings: {level: number; text: string}[] = []
  return blocks.flatMap(block => {
    if (block.kind === 'heading') {
      headings = [...headings.filter(({level}) => level < block.level), block]
    }
    if (block.kind !== 'table') return []
    const above = headings.filter(({level}) => level > 1)
    const [last] = (above.length > 0 ? above : headings).toReversed()
    const slug = slugOf(last?.text ?? 'table')
    const count = (taken.get(slug) ?? 0) + 1
    taken.set(slug, count)
    const name = count === 1 ? slug : `${slug}-${count}`
    const caption = (above.length > 0 ? above : headings).map(({text}) => text).join('. ')
    return [{name, caption, block}]
  })
}

/** Letters of a name. */
const MOST = 60

function slugOf(text: string): string {
  const slug = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  return slug.slice(0, MOST).replaceAll(/^-+|-+$/g, '') || 'table'
}

/** Below a table; the best of its values are bold. */
const BEST = 'bold'

/**
 * A `table` with caption and label, to be read by `\\input`; turned where that makes fewer columns.
 *
 * @param caption - in words. `name`: the label is `tab:name`
 */
function latexTable(block: TableBlock, {name, caption}: {name: string; caption: string}): string {
  const {columns, rows, all = rows.length} = shownForm(block)
  const notes = [bestLegend(columns, BEST), rowsLeftOut(rows.length, all)].flatMap(
    note => note ?? [],
  )
  const cells = rows.map((row, at) =>
    row.map((cell, column) => marked(escaped(cell), columns[column]?.best?.rows.has(at))),
  )
  return [
    TEX_MARK,
    '% needs \\usepackage{booktabs}',
    '\\begin{table}',
    '  \\centering',
    `  \\caption{${escaped(caption)}}`,
    `  \\label{tab:${name}}`,
    `  \\begin{tabular}{${columns.map(({align}) => (align === 'right' ? 'r' : 'l')).join('')}}`,
    '    \\toprule',
    lineOf(columns.map(({title}) => escaped(title))),
    '    \\midrule',
    ...cells.map(lineOf),
    '    \\bottomrule',
    '  \\end{tabular}',
    ...notes.map(note => `  \\par\\smallskip\\footnotesize ${escaped(sentence(note))}`),
    '\\end{table}',
    '',
  ].join('\n')
}

/** A legend that begins with its mark as a sentence. */
function sentence(note: string): string {
  return note.replace(/^bold /, 'Bold: ')
}

/** A line of cells. One that begins with a bracket would be taken for an option of the line break before it. */
function lineOf(cells: readonly string[]): string {
  const [first = '', ...others] = cells
  const safe = first.startsWith('[') || first.startsWith('*') ? `{}${first}` : first
  return `    ${[safe, ...others].join(' & ')} \\\\`
}

function marked(cell: string, isBest = false): string {
  return isBest ? `\\textbf{${cell}}` : cell
}

/** What LaTeX would take for markup, or has in no font of text. */
const ESCAPES: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...'&%$#_{}'].map(letter => [letter, `\\${letter}`])),
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '<': '\\textless{}',
  '>': '\\textgreater{}',
  '|': '\\textbar{}',
  '±': '$\\pm$',
  '×': '$\\times$',
  '·': '$\\cdot$',
  '≤': '$\\leq$',
  '≥': '$\\geq$',
  '★': '$\\star$',
}

/** Text made literal; line breaks become spaces. */
function escaped(content: string): string {
  return printable(content.replaceAll(/\s*\n\s*/g, ' ')).replaceAll(
    /[&%$#_{}\\~^<>|±×·≤≥★]/g,
    letter => ESCAPES[letter]!,
  )
}
