/** What compares runs, in the formats of `--output`. */
import type {Block} from '../../report/document.js'
import {PAGE_START} from '../../report/html/markup.js'
import {renderMarkdown} from '../../report/markdown.js'
import type {ComparisonFile} from '../plans/compare.js'
import {writeOwnFile} from '../report/own-file.js'

/** A result in every format. */
export interface Result {
  /** What made it. */
  command: string
  /** An earlier file of it in words. */
  what: string
  blocks: readonly Block[]
  /** With its `schema` first. */
  document: {schema: string}
  csv(): string
  page(): Promise<string>
}

export interface ResultFlags {
  output?: readonly ComparisonFile[] | undefined
  force: boolean
}

/** Writes the files that were asked for; Markdown for `-` is printed. @throws {WOULD_OVERWRITE | NOT_WRITABLE} */
export async function writeResult(
  result: Result,
  {output = [], force}: ResultFlags,
  print: (text: string) => void,
): Promise<string[]> {
  for (const {path, format} of output) {
    if (path === '-') print(renderMarkdown(result.blocks).trimEnd())
    else {
      const {text, start} = await textOf(result, format)
      const isOwn = (content: string) => content.startsWith(start)
      await writeOwnFile(path, text, {flag: '--output', force, isOwn, what: result.what})
    }
  }
  return output.map(({path}) => path).filter(path => path !== '-')
}

/** Columns that every CSV of a result begins with: those behind them differ between versions. */
const OWN_COLUMNS = 4

/** A result in a format, and how each file of that format begins. */
async function textOf(
  {command, blocks, document, csv, page}: Result,
  format: ComparisonFile['format'],
): Promise<{text: string; start: string}> {
  switch (format) {
    case 'markdown': {
      const start = `<!-- written by rfa ${command} -->`
      return {text: `${start}\n\n${renderMarkdown(blocks)}`, start}
    }
    case 'csv': {
      const text = csv()
      return {text, start: `${text.split(',', OWN_COLUMNS).join()},`}
    }
    case 'json': {
      const [name] = document.schema.split('/')
      return {text: `${JSON.stringify(document, null, 2)}\n`, start: `{\n  "schema": "${name}/`}
    }
    case 'html':
      return {text: await page(), start: PAGE_START}
  }
}
