#!/usr/bin/env node
// The suites that take minutes and rarely fail. Each is due when a file that it covers has changed since it last passed.
//
//   node scripts/release-suites.js          prints the npm scripts that are due, one a line; all of them with RFA_RELEASE=1
//   node scripts/release-suites.js --run    runs them, and notes in .ci/passed.json, which is to be committed, what has passed
//
// What has passed is known by the content of the files, so that it holds on any branch and in any clone.
import {spawnSync} from 'node:child_process'
import {createHash} from 'node:crypto'
import {existsSync, readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const PASSED = join(root, '.ci', 'passed.json')
/** Exit code of a suite with programs that are missing here. */
const UNAVAILABLE = 3

const INSTALLED = ['package.json', 'package-lock.json']
const NUMERICS = [
  ...['src/attention', 'src/backends', 'src/check', 'src/random', 'src/stats', 'src/theory'],
  ...['src/host-loops.ts', 'src/tf.ts', 'native', 'fixtures', 'test/helpers', 'package-lock.json'],
]
const PROGRAM = [
  'bin',
  'commands',
  'src/cli',
  'src/experiments',
  'src/plugins',
  'src/results',
  'src/runner',
]

/** Suites by their npm scripts, with the files and folders that they cover. */
const SUITES = {
  'test:native:sanitize': ['native', 'src/backends/native', 'test/native'],
  'test:native': ['test/native', ...NUMERICS],
  'test:rest:methods': [
    ...[
      'test/conformance',
      'test/property',
      'test/golden',
      'test/unit/attention',
      'test/unit/check',
    ],
    ...NUMERICS,
  ],
  'test:processes': [
    ...['vitest.config.ts', 'test/cli', 'test/faults', 'test/fuzz', 'test/project', 'test/unit'],
    'test/helpers',
    ...['src', 'native', 'scripts', 'package-lock.json'],
    ...PROGRAM.filter(path => !path.startsWith('src/')),
  ],
  'test:rest:program': [
    ...['test/cli', 'test/faults', 'test/fuzz', 'test/project', 'test/unit', 'test/helpers'],
    ...['src/advice', 'src/inputs', 'src/random', 'src/report', 'src/stats', 'src/theory'],
    ...PROGRAM,
  ],
  'test:statistical': [
    ...['test/statistical', 'src/attention', 'src/check', 'src/experiments', 'src/random'],
    ...['src/stats', 'src/theory', 'test/helpers'],
  ],
  'test:shells': [
    'test/shells',
    'README.md',
    'CONTRIBUTING.md',
    'docs',
    'results/reference',
    ...PROGRAM,
  ],
  'test:browser': ['test/browser', 'src/report', 'src/experiments', 'results/reference'],
  'test:install': [
    ...['test/install', 'bin', 'native', 'scripts', 'src/index.ts', 'src/backends', 'binding.gyp'],
    ...['python', ...INSTALLED],
  ],
  'test:python': [
    'test/python',
    'python',
    'docs/your-model.md',
    'docs/python.md',
    'src/attention',
    'src/random',
    'src/inputs',
    'src/apply',
    'src/export',
    'src/model',
    'src/experiments/bench/measure/peers',
    'scripts',
  ],
  'test:arm64': ['native', 'src/backends', 'test/native', 'scripts/arm64.js', 'package-lock.json'],
  'test:slurm': ['test/slurm', 'scripts/slurm.js', 'src/cli/slurm', 'src/results', 'src/runner'],
}

/** Suites that skip cases where programs are missing, with the command of a shell that finds those. */
const PROGRAMS = {
  'test:browser':
    '[ -x "$RFA_CHROMIUM" ] || command -v chromium || command -v chromium-browser || command -v google-chrome',
  'test:shells': 'command -v zsh && command -v fish && command -v script',
}

const passed = existsSync(PASSED) ? JSON.parse(readFileSync(PASSED, 'utf8')) : {}
const due = Object.keys(SUITES).filter(
  suite => process.env.RFA_RELEASE === '1' || passed[suite] !== digestOf(SUITES[suite]),
)
if (process.argv[2] === '--run') runAll()
else process.stdout.write(due.map(suite => `${suite}\n`).join(''))

/** The content of files as git has it; `null` where some of it is not committed. */
function digestOf(paths) {
  if (git('status', '--porcelain', '--', ...paths) !== '') return null
  return createHash('sha256')
    .update(git('ls-tree', '-r', 'HEAD', '--', ...paths))
    .digest('hex')
}

function git(...words) {
  const {status, stdout, stderr} = spawnSync('git', words, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  if (status !== 0) throw new Error(`expected a git checkout, got: ${stderr.trim()}`)
  return stdout
}

function runAll() {
  for (const suite of due) {
    const {status} = spawnSync('npm', ['run', suite], {cwd: root, stdio: 'inherit'})
    if (status === UNAVAILABLE) skipped(suite, 'which is not to be had here')
    else if (status !== 0) process.exitCode = 1
    else if (hasPrograms(suite)) pass(suite)
    else skipped(suite, 'in part: it passed without the cases that need missing programs')
  }
}

function skipped(suite, how) {
  process.stdout.write(`skipped: ${suite}, ${how}\n`)
}

function hasPrograms(suite) {
  return spawnSync('sh', ['-c', PROGRAMS[suite] ?? 'true']).status === 0
}

function pass(suite) {
  const digest = digestOf(SUITES[suite])
  if (digest === null) return
  passed[suite] = digest
  const sorted = Object.fromEntries(Object.entries(passed).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(PASSED, `${JSON.stringify(sorted, null, 2)}\n`)
}
