/** The commands that the documents of the project tell a reader to type. */
import {readFileSync} from 'node:fs'

/** Stands for a name that the reader chooses. */
const PLACEHOLDERS: Record<string, string> = {NAME: 'favor-pos'}

/**
 * Every command of a document that runs `rfa`: the lines of its blocks for a shell, what stands in backquotes beginning
 * with `npx rfa`, and in tables with `rfa`. Comments go, placeholders are filled in.
 *
 * @param file - relative to the root of the package
 */
export function documentedCommands(file: string): string[] {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
  const lines = shellLines(text)
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '')
  const rows = prose.split('\n').filter(line => line.startsWith('| '))
  const spans = [
    ...prose.matchAll(/`(npx rfa\s[^`]+)`/g),
    ...rows.flatMap(row => [...row.matchAll(/`(rfa [^`]+)`/g)]),
  ].map(match => match[1]!.replaceAll(/\s+/g, ' '))
  return [...new Set([...lines.filter(runsRfa), ...spans])].map(filled)
}

/** Every line of the blocks of a text for a shell, without comments. */
export function shellLines(text: string): string[] {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(match => match[1]!)
  const lines = blocks.flatMap(block => block.split('\n').map(line => line.replace(/\s+# .*/, '')))
  return lines.filter(line => line !== '')
}

/** What ends in an ellipsis shows where something goes. */
function runsRfa(line: string): boolean {
  return /(npx rfa|bin\/(run|dev)\.js)\b/.test(line) && !line.includes('…')
}

function filled(command: string): string {
  return command.replaceAll(/\b[A-Z]+\b/g, word => PLACEHOLDERS[word] ?? word)
}
