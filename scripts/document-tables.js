/**
 * Parts of README and of pages in docs/ that quote results, from the files in results/reference: those that are named, or
 * all of them, printed, or with `--write` put into their documents, each between its two marks.
 *
 * node scripts/document-tables.js [--write] [NAME ...]
 */
import {readFileSync, writeFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'

const ROOT = new URL('../', import.meta.url)
const REFERENCE = new URL('results/reference/', ROOT)
const VERDICTS = {not_measurable: 'not measurable here'}
/** The claims that README shows. */
const FEW_CLAIMS = ['H2', 'H4', 'H12', 'H24', 'H30']
/** A run of the claims: all of them are made together. */
const CLAIMS_RUN = 'claims/lengths'
/** The run that README's first command makes, and the width at which it is shown. */
const [FIRST_RUN, FIRST_WIDTH] = ['error-sweep-quick', 80]

/** Each part: its document, and its text. */
const PARTS = {
  'first run': {document: 'README.md', text: firstRun},
  'some claims': {
    document: 'README.md',
    text: () => claimsTable(claims().filter(({id}) => FEW_CLAIMS.includes(id))),
  },
  speed: {document: 'README.md', text: async () => (await bench()).speedTable(saved('peers.json'))},
  claims: {document: 'docs/claims.md', text: allClaims},
  kernels: {
    document: 'docs/performance.md',
    text: async () => (await bench()).kernelsTable(saved('kernels.json')),
  },
  peers: {
    document: 'docs/performance.md',
    text: async () => (await bench()).peersTable(saved('peers.json')),
  },
  experiments: {
    document: 'docs/performance.md',
    text: async () => (await bench()).experimentsTable(saved('experiments.json')),
  },
}

function saved(file) {
  return JSON.parse(readFileSync(new URL(file, REFERENCE), 'utf8'))
}

/** What the build made of bench/document-tables.ts. */
function bench() {
  return import('../dist/bench/document-tables.js')
}

/** What the first command prints, and how the run came about. */
async function firstRun() {
  const built = path => import(new URL(`dist/src/${path}.js`, ROOT))
  const {readSaved, savedReport} = await built('cli/report/read-saved')
  const {services} = await built('cli/program/services')
  const {asFlags} = await built('cli/program/error-report')
  const {renderTerminal} = await built('report/terminal')
  const {withTexts} = await built('report/document')
  const runs = await readSaved([fileURLToPath(new URL(FIRST_RUN, REFERENCE))], 'rfa', services)
  const [, ...report] = await savedReport(runs, {details: false})
  const blocks = report.map(block => withTexts(block, text => asFlags(text, ['predictions'])))
  const layout = {width: FIRST_WIDTH, colour: false, unicode: true}
  return ['```text', renderTerminal(blocks, layout), '```', '', madeText(FIRST_RUN)].join('\n')
}

/** On what, when and of what a run was made. */
function madeText(run) {
  const {machine, created_at} = saved(`${run}/manifest.json`)
  const {cpu, logical_cores: cores, node, rfa, commit} = machine
  return `${cpu}, ${cores} cores, Node ${node}; rfa ${rfa} at commit ${commit}, ${created_at.slice(0, 10)}.`
}

function claims() {
  return saved('claims/claims.json').claims
}

/** A line for each claim that was tried; those of trained models are named below it. */
function allClaims() {
  const others = claims().flatMap(({id, ours}) => (ours === null ? [id] : []))
  const rest = `${others.join(', ')} are about trained models and are listed with the numbers of the papers.`
  const tried = claims().filter(({ours}) => ours !== null)
  return [claimsTable(tried), rest, madeText(CLAIMS_RUN)].join('\n\n')
}

function claimsTable(rows) {
  const cell = text => text.replaceAll('|', '\\|')
  const lines = rows.map(({id, sentence, verdict, statement}) => {
    const texts = [id, sentence, `**${VERDICTS[verdict] ?? verdict}**`, statement]
    return `| ${texts.map(cell).join(' | ')} |`
  })
  return ['| claim | of the papers | verdict | found here |', '|---|---|---|---|', ...lines].join(
    '\n',
  )
}

/** What stands between the marks of a part, and they themselves. */
async function section(name) {
  const [first, last] = marksOf(name)
  return `${first}\n\n${(await PARTS[name].text()).trimEnd()}\n\n${last}`
}

function marksOf(name) {
  return [`<!-- ${name} -->`, `<!-- end of ${name} -->`]
}

/** Puts another section in the place of that of its name. */
function write(name, text) {
  const {document} = PARTS[name]
  const path = new URL(document, ROOT)
  const before = readFileSync(path, 'utf8')
  const [first, last] = marksOf(name)
  const [from, to] = [before.indexOf(first), before.indexOf(last)]
  if (from < 0 || to < from) throw new Error(`${document}: expected the marks ${first} and ${last}`)
  writeFileSync(path, `${before.slice(0, from)}${text}${before.slice(to + last.length)}`)
}

async function main(argv) {
  const names = argv.filter(argument => argument !== '--write')
  const unknown = names.filter(name => !Object.hasOwn(PARTS, name))
  if (unknown.length > 0) {
    throw new Error(`expected some of ${Object.keys(PARTS).join(', ')}, got ${unknown.join(', ')}`)
  }
  for (const name of names.length > 0 ? names : Object.keys(PARTS)) {
    const text = await section(name)
    if (argv.includes('--write')) write(name, text)
    else process.stdout.write(`${text}\n`)
  }
}

await main(process.argv.slice(2))
