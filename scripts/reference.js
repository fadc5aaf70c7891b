#!/usr/bin/env node
// Makes results/reference anew, or the parts of it that are named. Times count only on a machine that does nothing else.
// npm run reference -- [NAME ...]; figures: draws those of earlier runs anew
import {spawnSync} from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const REFERENCE = 'results/reference'
const PROGRAM = 'bin/run.js'

/** Runs of rfa, each a folder with its tables, records, figures and page. */
const RUNS = {
  'error-sweep-quick': {
    argv: ['error-sweep', '--quick'],
    detailed: true,
    quoted: ['first run'],
  },
  sweep: {
    argv: [
      ...['error-sweep', '--methods', 'favor-pos,mean-value', '--projections', 'orth'],
      ...['--scales', '0.25,0.5,1', '--num-features', '16..4kx4', '--replicates', '10'],
    ],
  },
  bench: {
    argv: [
      ...['bench', '--methods', 'favor-pos,rfa,elu', '--num-features', '64'],
      ...['--seq-len', '256..8kx2'],
    ],
  },
  decode: {
    argv: [
      ...['bench', '--mode', 'decode', '--methods', 'rfa,elu', '--num-features', '64'],
      ...['--seq-len', '100,784,2048'],
    ],
  },
  variance: {
    argv: [
      ...['variance', '--methods', 'favor-pos,favor-hyp,favor-trig'],
      ...['--projections', 'iid,orth,simplex', '--num-features', '64'],
      ...['--norms', '0.25,0.5,1,2,3', '--angles', '0,90,180'],
    ],
  },
}

/** Runs of claims without their records, which are the largest. Those of single replicates are left out of all. */
const LARGEST = ['h11-output', 'h19-bias', 'charlm-swap', 'h29-tune']
/** Of the runs of claims, the one that README shows. */
const DRAWN = 'lengths'

/** What makes each part. */
const PARTS = {
  ...Object.fromEntries(Object.entries(RUNS).map(([name, how]) => [name, () => run(name, how)])),
  claims,
  figures: redraw,
  peers: () => benchmark('peers', ['peers', 'speed']),
  kernels: () => benchmark('kernels'),
  backends: () => calibrate('backends'),
  experiments: () => benchmark('experiments'),
  repeatability: () => calibrate('repeatability'),
}

const asked = process.argv.slice(2)
const unknown = asked.filter(name => !Object.hasOwn(PARTS, name))
if (unknown.length > 0) {
  const names = Object.keys(PARTS).join(', ')
  process.stderr.write(`reference: expected some of ${names}, got ${unknown.join(' ')}\n`)
  process.exit(2)
}
// each part draws its own figures
for (const name of asked.length > 0 ? asked : Object.keys(PARTS).filter(one => one !== 'figures')) {
  process.stderr.write(`${name}\n`)
  PARTS[name]()
}

/** A run with its figures and its page. */
function run(name, {argv, detailed = false, quoted = []}) {
  const folder = `${REFERENCE}/${name}`
  replace(folder, () => rfa([...argv, '--output', folder]))
  if (!detailed) for (const table of detailsIn(folder)) remove(`${folder}/${table}`)
  draw(folder)
  rfa(['report', folder, '--html', `${folder}/report.html`, '--force'])
  if (quoted.length > 0) quote(...quoted)
}

/** Tables of single heads and replicates, which records.jsonl has, too. */
function detailsIn(folder) {
  return readdirSync(join(root, folder)).filter(name => /^records_.*\.csv$/.test(name))
}

/** Figures of what was measured before. */
function redraw() {
  for (const name of [...Object.keys(RUNS), `claims/${DRAWN}`]) draw(`${REFERENCE}/${name}`)
}

/** All claims, with the smaller ones of their runs. */
function claims() {
  const folder = `${REFERENCE}/claims`
  replace(folder, () => rfa(['claims', '--output', folder]))
  for (const entry of readdirSync(join(root, folder), {withFileTypes: true})) {
    const own = `${folder}/${entry.name}`
    // what was read and learned on the way, and records with a folder of this machine
    if (/^(h29-inputs|minilm-swap)$|\.safetensors$/.test(entry.name)) remove(own)
    if (!entry.isDirectory()) continue
    for (const table of ['replicates', 'parts']) remove(`${own}/records_${table}.csv`)
    if (LARGEST.includes(entry.name)) remove(`${own}/records.jsonl`)
  }
  draw(`${folder}/${DRAWN}`)
  quote('claims', 'some claims')
}

/** A calibration with a file that is kept. */
function calibrate(name) {
  node('dist/bench/calibrate.js', name, '--output', `${REFERENCE}/${name}.json`)
}

/** A benchmark, with the parts of documents that quote it. */
function benchmark(name, quoted = [name]) {
  node(`dist/bench/${name}.js`)
  quote(...quoted)
}

/** Writes parts of README and docs/ anew. */
function quote(...parts) {
  node('scripts/document-tables.js', '--write', ...parts)
}

/** Figures: SVG as wide as a page of all, and of the first, which README shows, PNG as wide as a column. */
function draw(folder) {
  const figures = `${folder}/figures`
  remove(figures)
  const report = ['report', folder, '--force', '--output', `${folder}/report.md`]
  rfa([...report, '--svg', figures, '--png', figures])
  remove(`${folder}/report.md`)
  const list = join(root, figures, 'figures.json')
  const known = JSON.parse(readFileSync(list, 'utf8'))
  const drawn = known.figures.map((figure, at) => {
    const {name} = figure
    return {...figure, files: [`${name}.svg`, ...(at === 0 ? [`${name}-column.png`] : [])]}
  })
  const kept = new Set(drawn.flatMap(({files}) => files))
  for (const file of known.figures.flatMap(({files}) => files)) {
    if (!kept.has(file)) remove(`${figures}/${file}`)
  }
  if (kept.size === 0) remove(figures)
  else writeFileSync(list, `${JSON.stringify({...known, figures: drawn}, null, 2)}\n`)
}

/** Has a folder made anew; what was there comes back where that fails. */
function replace(folder, make) {
  const [now, before] = [join(root, folder), join(root, `${folder}.before`)]
  remove(`${folder}.before`)
  if (existsSync(now)) renameSync(now, before)
  try {
    make()
  } catch (error) {
    remove(folder)
    if (existsSync(before)) renameSync(before, now)
    throw error
  }
  remove(`${folder}.before`)
}

function remove(path) {
  rmSync(join(root, path), {recursive: true, force: true})
}

function rfa(argv) {
  node(PROGRAM, ...argv)
}

/** @throws {Error} where the program fails: what is there stays as it is */
function node(...argv) {
  mkdirSync(join(root, REFERENCE), {recursive: true})
  const {status} = spawnSync(process.execPath, argv, {cwd: root, stdio: ['ignore', 'ignore', 2]})
  if (status !== 0) throw new Error(`reference: ${argv.join(' ')} ended with ${status}`)
}
