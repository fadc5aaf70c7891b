/** Figures of a report as files, with a list of what they show. */
import {lstat, readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {z} from 'zod'
import {expected, messageOf, RfaError} from '../../errors.js'
import {writeAtomic} from '../../files.js'
import type {Block} from '../../report/document.js'
import {
  type Figure,
  type FigureFormat,
  type FigureWidth,
  WIDTHS,
} from '../../report/figures/figure.js'
import {makeFolder, requireRegularFile} from '../../results/files.js'
import {forceRemedy} from './own-file.js'

/** Lists the files of a folder, so that they can be told from others there. */
const LIST = 'figures.json'

/** What stands beside figures of a report. */
export const figureList = z.object({
  schema: z.literal('rfa.report-figures/1').describe('Name and version of this format.'),
  figures: z
    .array(
      z.object({
        name: z.string().describe('Of its files, without ending.'),
        title: z.string().describe('What it shows.'),
        caption: z
          .string()
          .describe(
            'For a paper: what it shows, of which run, how to read it, and what intervals are.',
          ),
        files: z.array(z.string()).describe('In this folder, as wide as a page and as a column.'),
      }),
    )
    .describe('Figures of the last report, and of earlier ones with other names.'),
})
type FigureList = z.infer<typeof figureList>

/** Where figures were written; of pictures to be shown those as wide as a page. */
export interface WrittenFigures {
  files: string[]
  /** The picture of a figure by its name. */
  pictures: ReadonlyMap<string, string>
}

/**
 * Writes all figures of a report into a folder, as wide as a page and as one column of two (`NAME-column`).
 *
 * @throws {WOULD_OVERWRITE} where there is a file of such a name that an earlier report has not written, unless forced
 * @throws {NOT_WRITABLE} where files cannot be written
 */
export async function writeFigures(
  blocks: readonly Block[],
  folder: string,
  {format, force}: {format: FigureFormat; force: boolean | undefined},
): Promise<WrittenFigures> {
  const figures = blocks.flatMap(block => (block.kind === 'figure' ? [block.figure] : []))
  if (figures.length === 0) return {files: [], pictures: new Map()}
  const list = await listOf(folder)
  const earlier = list ?? []
  const names = figures.flatMap(own => namesOf(own, format))
  const known = new Set([...(list ? [LIST] : []), ...earlier.flatMap(({files}) => files)])
  if (!force) {
    for (const name of [LIST, ...names]) await refuseForeign(folder, name, {known, format, force})
  }
  try {
    await makeFolder(folder)
    const all = JSON.stringify(joined(earlier, figures, format), null, 2)
    await writeAtomic(join(folder, LIST), `${all}\n`)
    for (const figure of figures) await writeFigure(figure, folder, format)
  } catch (error) {
    const why = error instanceof RfaError ? error.message : `${folder}: ${messageOf(error)}`
    throw new RfaError('NOT_WRITABLE', `--${format}: cannot write ${why}`, {
      suggestions: [`name another folder with --${format}`],
      cause: error,
    })
  }
  const pictures = new Map(figures.map(({name}) => [name, join(folder, `${name}.${format}`)]))
  return {files: names.map(name => join(folder, name)), pictures}
}

function namesOf({name}: Figure, format: FigureFormat): string[] {
  return Object.keys(WIDTHS).map(width => fileOf(name, width as FigureWidth, format))
}

function fileOf(name: string, width: FigureWidth, format: FigureFormat): string {
  return `${name}${width === 'page' ? '' : `-${width}`}.${format}`
}

/** The list with these figures, and what there is of others and in other formats. */
function joined(
  earlier: FigureList['figures'],
  figures: readonly Figure[],
  format: FigureFormat,
): FigureList {
  const now = figures.map(figure => {
    const {name, title} = figure
    const before = earlier.find(own => own.name === name)?.files ?? []
    const files = [...new Set([...before, ...namesOf(figure, format)])]
    return {name, title, caption: captionOf(figure), files}
  })
  const others = earlier.filter(({name}) => !figures.some(own => own.name === name))
  return {schema: 'rfa.report-figures/1', figures: [...now, ...others]}
}

/** A caption in full sentences. */
function captionOf({title, caption, run}: Figure): string {
  return [`${title}.`, caption, ...(run === undefined ? [] : [`From ${run}.`])].join(' ')
}

async function writeFigure(figure: Figure, folder: string, format: FigureFormat): Promise<void> {
  const {figurePdf, figurePng, figureSvg} = await import('../../report/figures/files.js')
  const draw = {svg: figureSvg, pdf: figurePdf, png: figurePng}[format]
  for (const width of Object.keys(WIDTHS) as FigureWidth[]) {
    const name = fileOf(figure.name, width, format)
    await writeAtomic(join(folder, name), await draw(figure, width))
  }
}

/** What earlier reports have written there; `undefined`: there is no list of theirs. */
async function listOf(folder: string): Promise<FigureList['figures'] | undefined> {
  const path = join(folder, LIST)
  try {
    await requireRegularFile(path)
    return figureList.parse(JSON.parse(await readFile(path, 'utf8'))).figures
  } catch {
    return undefined
  }
}

async function refuseForeign(
  folder: string,
  name: string,
  {
    known,
    format,
    force,
  }: {known: ReadonlySet<string>; format: FigureFormat; force: boolean | undefined},
): Promise<void> {
  const path = join(folder, name)
  if (known.has(name) || !(await lstat(path).catch(() => undefined))) return
  const what = 'a new file or one of an earlier report'
  const remedies = [`name another folder with --${format}`, ...forceRemedy(force)]
  const got = `${path}, which is neither`
  throw expected('WOULD_OVERWRITE', `--${format}`, what, got, ...remedies)
}
