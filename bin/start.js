// Runs the built code. The version and the first screen are answered before anything heavy loads, and a run's worker
// starts before it, too.
import {existsSync, readFileSync} from 'node:fs'
import {Worker} from 'node:worker_threads'

const argv = process.argv.slice(2)
const root = new URL('../', import.meta.url)

if (['--version', '-v', 'version'].includes(argv[0] ?? '')) {
  const {name, version} = packageFacts()
  const {platform, arch, version: node} = process
  const facts = {schema: 'rfa.version/1', version, platform, arch, node}
  const text = argv.includes('--json')
    ? JSON.stringify(facts, null, 2)
    : `${name}/${version} ${platform}-${arch} node-${node}`
  print(text)
} else if (existsSync(new URL('dist/program/src/runner/workers/prestarted-worker.js', root))) {
  // help indents some of its text by two columns more than it counts
  const columns = process.stdout.columns || columnsAskedFor(process.env.COLUMNS) || 80
  process.env.OCLIF_COLUMNS ??= String(Math.max(40, columns) - 2)
  const screen = argv.length < 2 ? await firstScreen() : undefined
  if (screen === undefined) await run()
  else print(screen)
} else {
  process.stderr.write('rfa is not built yet: run npm run build\n')
  process.exitCode = 3
}

async function run() {
  watchParent()
  const {startAhead} = await import('../dist/program/src/runner/workers/prestarted-worker.js')
  startAhead(argv)
  const {main} = await import('../dist/program/src/cli/program/main.js')
  await main(argv, import.meta.url)
}

async function firstScreen() {
  const {rootHelpScreen} = await import('../dist/program/src/cli/help/root-help.js')
  return rootHelpScreen(argv, Number(process.env.OCLIF_COLUMNS), packageFacts())
}

function packageFacts() {
  return JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
}

/** Prints what needs nothing of the program. */
function print(text) {
  process.stdout.on('error', ({code}) => {
    if (code === 'EPIPE') return
    process.stderr.write(`stdout: expected a place to print to, got ${code}\n`)
    process.exitCode = 3
  })
  process.stdout.write(`${text}\n`)
}

/** A program that the Python package has started ends with it, and removes the folder with its arrays. */
function watchParent() {
  const {RFA_PARENT: parent, RFA_TEMPORARY: temporary} = process.env
  delete process.env.RFA_PARENT
  delete process.env.RFA_TEMPORARY
  if (parent === undefined || process.platform === 'win32') return
  const thread = new URL('dist/program/src/runner/workers/parent-watch.js', root)
  new Worker(thread, {workerData: {parent: Number(parent), temporary}}).unref()
}

/** Off a terminal `COLUMNS` says how wide help is, as it does of tables. */
function columnsAskedFor(text) {
  return /^[1-9]\d{0,5}$/.test(text ?? '') ? Number(text) : 0
}
