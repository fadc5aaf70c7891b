/** Cells that take their process with them, or never end: each is one failed record, and the others are computed. */
import {execFileSync, spawnSync} from 'node:child_process'
import {existsSync, mkdirSync, rmdirSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it, onTestFinished} from 'vitest'
import {FULL} from '../helpers/effort.js'
import {newFolder} from '../helpers/folders.js'
import {writeFiles} from '../helpers/plugins.js'
import {complete, expectNoneLeft, journalOf, type StartOptions, start} from './runs.js'

/** A plug-in whose features are those of relu, once this has been done. */
const doing = (name: string, what: string) => `
import {createRequire} from 'node:module'
import {defineFeatureMap, guardOptions, tf, z} from 'rfa/attention'
const require = createRequire(import.meta.url)
export default defineFeatureMap({
  name: '${name}',
  title: 'rectified entries',
  citation: 'none',
  formula: 'phi(x) = relu(x)',
  advice: 'for tests',
  nonNegative: true,
  inputs: () => 'canonical',
  options: z.object({...guardOptions}),
  featureDim: (_numFeatures, headDim) => headDim,
  phi: () => x => {
    ${what}
    return tf.relu(x)
  },
})
`

const GIVES_UP = 'the cell was stopped: it took longer than 9 s'
const ended = (by: string) => new RegExp(`^the worker process was ended by ${by}`)

/** What happens in a cell, how its record tells it, and where it can be tried. */
const FAULTS = {
  hang: {what: 'for (;;);', code: 'CELL_TIMEOUT', message: new RegExp(`^${GIVES_UP}$`)},
  abort: {what: 'process.abort()', code: 'CELL_CRASHED', message: ended('SIGABRT$')},
  // what the system does to the largest process when memory runs out, which it counts
  kill: {
    what: "process.kill(process.pid, 'SIGKILL')",
    code: 'CELL_CRASHED',
    message: ended('SIGKILL \\(.*\\)$'),
  },
  // a list that grows until the engine has no more
  heap: {
    what: 'for (const all = []; ; ) all.push(new Array(1e5).fill(0.5))',
    code: 'CELL_CRASHED',
    message: ended('SIG\\w+: FATAL ERROR: .*heap out of memory'),
  },
  exit: {
    what: 'process.exit(7)',
    code: 'CELL_CRASHED',
    message: /exited with code 7$/,
  },
} as const

const SIZES = ['--generator', 'gaussian', '--seq-len', '16', '--heads', '2', '--head-dim', '8']

/** A sweep of these plug-ins among built-in methods: how it ended, and its records by method. */
async function sweepOf(plugins: Record<string, string>, options: Partial<StartOptions> = {}) {
  const cwd = await newFolder()
  const names = Object.keys(plugins)
  writeFiles(
    cwd,
    Object.fromEntries(names.map(name => [`${name}.mjs`, doing(name, plugins[name]!)])),
  )
  const run = start(
    [
      ...['error-sweep', ...SIZES, '--targets', 'raw', '--backend', 'cpu', '--timeout', '9'],
      ...names.flatMap(name => ['--plugin', `${name}.mjs`]),
      ...['--methods', ['elu', ...names, 'mean-value', 'softmax'].join(','), '--output', 'run'],
    ],
    {cwd, ...options},
  )
  const ending = await run.ended
  await expectNoneLeft(run)
  const lines = journalOf(join(cwd, 'run')).slice(0, -1)
  const records = lines.map(line => JSON.parse(line))
  return {
    ...ending,
    count: records.length,
    told: Object.fromEntries(
      records.map(({cell, status, error}) => [cell.method, error ?? status]),
    ) as Record<string, unknown>,
  }
}

const OTHERS = {elu: 'completed', 'mean-value': 'completed', softmax: 'completed'}

describe.runIf(FULL)('a cell', () => {
  it('that aborts, is killed, runs out of heap, exits or hangs fails alone', async () => {
    const names = Object.keys(FAULTS) as (keyof typeof FAULTS)[]
    const {code, stderr, count, told} = await sweepOf(
      Object.fromEntries(names.map(name => [name, FAULTS[name].what])),
      {env: {NODE_OPTIONS: '--max-old-space-size=128'}},
    )
    expect(code, stderr).toBe(4)
    expect(count).toBe(names.length + 3)
    expect(told).toMatchObject({
      ...OTHERS,
      ...Object.fromEntries(
        names.map(name => [
          name,
          {code: FAULTS[name].code, message: expect.stringMatching(FAULTS[name].message)},
        ]),
      ),
    })
    expect(stderr).toMatch(/^warning: memory and time of hang, .* are not predicted: /m)
    expect(stderr).toMatch(/3 of 8 cells in \S+ s, 5 failed, saved in run/)
  })

  const compiler = spawnSync('cc', ['--version']).status === 0
  it.runIf(compiler)('whose addon writes out of bounds, or aborts, fails alone', async () => {
    const folder = await newFolder()
    const addon = (name: string, body: string) => {
      const source = join(folder, `${name}.c`)
      writeFileSync(
        source,
        `#include <stdlib.h>\nvoid *napi_register_module_v1(void *env, void *exports) { ${body} return exports; }\n`,
      )
      const built = join(folder, `${name}.node`)
      execFileSync('cc', ['-O0', '-shared', '-fPIC', '-o', built, source])
      return `require(${JSON.stringify(built)})`
    }
    const {code, stderr, told} = await sweepOf({
      fault: addon('fault', '*(volatile int *)8 = 1;'),
      stop: addon('stop', 'abort();'),
    })
    expect(code, stderr).toBe(4)
    expect(told).toMatchObject({
      ...OTHERS,
      fault: {
        code: 'CELL_CRASHED',
        message: expect.stringMatching(ended('SIGSEGV \\(a fault in native code\\)')),
      },
      stop: {code: 'CELL_CRASHED', message: expect.stringMatching(ended('SIGABRT'))},
    })
  })
})

/** A memory group of so many bytes, where this process may make one. */
function memoryGroup(bytes: number): {name: string; join: string} | undefined {
  const places = [
    {root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes'},
    {root: '/sys/fs/cgroup', limit: 'memory.max'},
  ]
  for (const {root, limit} of places) {
    if (!existsSync(join(root, 'cgroup.procs'))) continue
    const name = join(root, `rfa-test-${process.pid}`)
    try {
      mkdirSync(name)
      writeFileSync(join(name, limit), String(bytes))
      return {name, join: `echo $$ > ${join(name, 'cgroup.procs')}`}
    } catch {
      if (existsSync(name)) rmdirSync(name)
    }
  }
  return undefined
}

it.runIf(FULL && process.platform === 'linux')(
  'a cell that takes more memory than its container has is ended by the system, alone',
  async context => {
    const group = memoryGroup(700 * 2 ** 20)
    if (!group) return context.skip('no control group of memory can be made here')
    onTestFinished(() => rmdirSync(group.name))
    const greedy = 'const all = []; for (;;) all.push(Buffer.alloc(2 ** 24, 1));'
    const {code, stderr, told} = await sweepOf({greedy}, {before: group.join})
    expect(code, stderr).toBe(4)
    expect(told).toMatchObject({
      ...OTHERS,
      greedy: {code: 'CELL_CRASHED', message: expect.stringMatching(ended('SIGKILL'))},
    })
  },
)

it.runIf(FULL && process.platform === 'linux')(
  'a cell that finds no memory within ulimit -v fails alone, and says why',
  async () => {
    // what Node reserves, without touching it, and a gigabyte
    const reserved = await complete(['--version'], {cwd: '.', before: 'ulimit -v 4000000'})
    expect(reserved.code).toBe(0)
    const greedy = 'const all = []; for (;;) all.push(Buffer.alloc(2 ** 26, 1));'
    const {code, stderr, told} = await sweepOf({greedy}, {before: 'ulimit -v 4000000'})
    expect(code, stderr).toBe(4)
    expect(told).toMatchObject({
      ...OTHERS,
      greedy: {message: expect.stringMatching(/memory|allocat/i)},
    })
  },
)
