/**
 * README's tables of results, from the files in results/reference: those that are named, or all of them, printed, or with
 * `--write` put into README, each between its two marks.
 *
 * node scripts/readme-tables.js [--write] [NAME ...]
 */
import {readFileSync, writeFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'

const README = new URL('../README.md', import.meta.url)
const WORDS = {not_measurable: 'not measurable here'}

/** Where each table comes from, and how it is made. */
const TABLES = {
  claims: {file: 'claims/claims.json', table: ({claims}) => claimsTable(claims)},
  kernels: {file: 'kernels.json', table: async report => (await bench()).kernelsReadme(report)},
  peers: {file: 'peers.json', table: async report => (await bench()).peersReadme(report)},
  experiments: {
    file: 'experiments.json',
    table: async report => (await bench()).experimentsReadme(report),
  },
}

/** What the build made of bench/readme.ts. */
function bench() {
  return import('../dist/bench/readme.js')
}

/** A line for each claim that was tried; those of trained models are named below it. */
function claimsTable(claims) {
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

/** What stands between the marks of a table, and they themselves. */
async function section(name) {
  const {file, table} = TABLES[name]
  const path = new URL(`../results/reference/${file}`, import.meta.url)
  const text = await table(JSON.parse(readFileSync(path, 'utf8')))
  const [first, last] = marksOf(name)
  return `${first}\n\n${text.trimEnd()}\n\n${last}`
}

function marksOf(name) {
  return [`<!-- ${name} -->`, `<!-- end of ${name} -->`]
}

/** The text of README with another section in the place of that of its name. */
function withSection(readme, name, text) {
  const [first, last] = marksOf(name)
  const [from, to] = [readme.indexOf(first), readme.indexOf(last)]
  if (from < 0 || to < from) throw new Error(`README.md: expected the marks ${first} and ${last}`)
  return `${readme.slice(0, from)}${text}${readme.slice(to + last.length)}`
}

async function main(argv) {
  const names = argv.filter(argument => argument !== '--write')
  const unknown = names.filter(name => !Object.hasOwn(TABLES, name))
  if (unknown.length > 0) {
    throw new Error(`expected some of ${Object.keys(TABLES).join(', ')}, got ${unknown.join(' ')}`)
  }
  let readme = readFileSync(README, 'utf8')
  for (const name of names.length > 0 ? names : Object.keys(TABLES)) {
    const text = await section(name)
    if (argv.includes('--write')) readme = withSection(readme, name, text)
    else process.stdout.write(`${text}\n`)
  }
  if (argv.includes('--write')) writeFileSync(README, readme)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2))
