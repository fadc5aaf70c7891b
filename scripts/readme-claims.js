/**
 * README's table of claims, from the verdicts in results/reference/claims: printed, or with `--write` put into README
 * between its two marks.
 */
import {readFileSync, writeFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'

const README = new URL('../README.md', import.meta.url)
const VERDICTS = new URL('../results/reference/claims/claims.json', import.meta.url)
const MARKS = ['<!-- claims -->', '<!-- end of claims -->']
const WORDS = {not_measurable: 'not measurable here'}

/** The table, a line for each claim that was tried; those of trained models are named below it. */
export function claimsTable(claims) {
  const cell = text => text.replaceAll('|', '\\|')
  const tried = claims.filter(({ours}) => ours !== null)
  const rows = tried.map(({id, sentence, verdict, statement}) => {
    const texts = [id, sentence, `**${WORDS[verdict] ?? verdict}**`, statement]
    return `| ${texts.map(cell).join(' | ')} |`
  })
  const others = claims.filter(({ours}) => ours === null).map(({id}) => id)
  const head = ['| claim | of the papers | verdict | found here |', '|---|---|---|---|']
  const rest = `${others.join(', ')} are about trained models and are listed with the numbers of the papers.`
  return [...head, ...rows, '', rest].join('\n')
}

/** The text of README with another table between the marks. */
export function withTable(readme, table) {
  const [before, after] = MARKS.map(mark => readme.indexOf(mark))
  if (before < 0 || after < before) throw new Error(`README.md: expected the marks ${MARKS}`)
  return `${readme.slice(0, before)}${MARKS[0]}\n\n${table}\n\n${readme.slice(after)}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const {claims} = JSON.parse(readFileSync(VERDICTS, 'utf8'))
  const table = claimsTable(claims)
  if (process.argv.includes('--write')) {
    writeFileSync(README, withTable(readFileSync(README, 'utf8'), table))
  } else process.stdout.write(`${table}\n`)
}
