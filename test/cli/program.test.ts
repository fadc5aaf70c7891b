/** The built program from outside: processes, pipes, signals, exit codes. */
import {execFile, spawn} from 'node:child_process'
import {once} from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, describe, expect, it, onTestFinished, vi} from 'vitest'
import {versionDocument} from '../../src/cli/program/json-documents.js'
import {commandIds} from '../helpers/commands.js'
import {FULL, sample} from '../helpers/effort.js'
import {processesWith} from '../helpers/processes.js'
import {runMain} from './run-command.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const program = join(root, 'bin', 'run.js')
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rfa-program-'))
})
afterAll(() => rmSync(folder, {recursive: true}))

interface Ending {
  code: number
  stdout: string
  stderr: string
}

function execute(file: string, argv: string[]): Promise<Ending> {
  return new Promise(resolve => {
    execFile(file, argv, {cwd: folder}, (error, stdout, stderr) => {
      resolve({code: Number(error?.code ?? 0), stdout, stderr})
    })
  })
}

const rfa = (...argv: string[]) => execute(process.execPath, [program, ...argv])

describe('rfa', () => {
  it.each(sample(['--version', '-v', 'version'], 3, 0))(
    'answers %s with name, version and platform',
    async flag => {
      const {version} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
      const {stdout, code} = await rfa(flag)
      expect(stdout).toBe(
        `rfa/${version} ${process.platform}-${process.arch} node-${process.version}\n`,
      )
      expect(code).toBe(0)
    },
  )

  it('answers --version as JSON under --json', async () => {
    const {stdout} = await rfa('--version', '--json')
    const {platform, arch, version: node} = process
    const {version} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const facts = {schema: 'rfa.version/1', version, platform, arch, node}
    expect(versionDocument.strict().parse(JSON.parse(stdout))).toEqual(facts)
  })

  it('says how to build it when it is not built', async () => {
    mkdirSync(join(folder, 'bare', 'bin'), {recursive: true})
    writeFileSync(join(folder, 'bare', 'package.json'), '{"type": "module"}')
    for (const name of ['run.js', 'start.js']) {
      copyFileSync(join(root, 'bin', name), join(folder, 'bare', 'bin', name))
    }
    expect(
      await execute(process.execPath, [join(folder, 'bare', 'bin', 'run.js'), 'bench']),
    ).toEqual({
      code: 3,
      stdout: '',
      stderr: 'rfa is not built yet: run npm run build\n',
    })
  })

  it('prints help as wide as COLUMNS says where there is no terminal', async () => {
    const widest = async (columns: string) => {
      vi.stubEnv('COLUMNS', columns)
      onTestFinished(() => void vi.unstubAllEnvs())
      const {stdout} = await rfa('bench', '--help')
      const lines = stdout.split('\n').filter(line => !line.startsWith('  $ '))
      return Math.max(...lines.map(({length}) => length))
    }
    const wide = await widest('120')
    expect(wide).toBeGreaterThan(100)
    expect(wide).toBeLessThanOrEqual(120)
  })

  it.each(sample([[], ...commandIds.map(id => [id])], 8, 0).map(words => [words]))(
    'prints help of %j within 80 columns, examples apart',
    async words => {
      const {stdout, code} = await rfa(...words, '--help')
      const lines = stdout.split('\n').filter(line => !line.startsWith('  $ '))
      expect(lines.filter(line => line.length > 80)).toEqual([])
      expect(lines.length).toBeGreaterThan(15)
      expect(code).toBe(0)
    },
  )

  it('ends quietly when the reader of its output has gone', async () => {
    const {stdout, stderr, code} = await execute('bash', [
      '-o',
      'pipefail',
      '-c',
      `"${process.execPath}" "${program}" methods --json | head -n 1`,
    ])
    expect({stdout, stderr, code}).toEqual({stdout: '{\n', stderr: '', code: 0})
  })

  const toFullDevice = (command: string) =>
    execute('bash', ['-c', `"${process.execPath}" "${program}" ${command} > /dev/full`])

  it
    .runIf(existsSync('/dev/full'))
    .each(sample(['methods', 'help methods', 'methods --json'], 3, 0))(
    'tells that its output cannot be written: %s',
    async command => {
      const {stderr, code} = await toFullDevice(command)
      expect(code).toBe(3)
      expect(stderr).toMatch(
        /^stdout: expected a place to print to, got ENOSPC.*\nCode: NOT_WRITABLE {3}Try: print to somewhere else; .*\n$/,
      )
    },
  )

  it.runIf(existsSync('/dev/full'))('keeps a run whose tables cannot be printed', async () => {
    const {stderr, code} = await toFullDevice(`${TINY.join(' ')} --output full`)
    expect(code).toBe(3)
    expect(stderr).toMatch(
      /saved in full\nevery table: .*\nstdout: expected a place to print to, got ENOSPC/,
    )
    expect(readdirSync(join(folder, 'full'))).toContain('records.csv')
  })

  it.runIf(existsSync('/dev/full')).each(['--version', '--help'])(
    'says that it cannot print, where nothing else is loaded: %s',
    async argument => {
      const {stderr, code} = await toFullDevice(argument)
      expect(code).toBe(3)
      expect(stderr).toBe('stdout: expected a place to print to, got ENOSPC\n')
    },
  )
})

/** A real sweep of deterministic methods: small, and the same everywhere. */
const TINY = [
  ...['error-sweep', '--generator', 'gaussian', '--heads', '3', '--head-dim', '17'],
  ...['--seq-len', '31', '--methods', 'elu,mean-value,softmax', '--backend', 'cpu'],
]

/** What a run of those cells says below its tables. */
const endedIn = (directory: string, before = '') =>
  expect.stringMatching(
    new RegExp(
      `^${before}3 cells in \\d+(\\.\\d)? s, saved in ${directory}\n` +
        `every table: rfa report ${directory} --details( \\(as a page: --html page.html\\))?\n$`,
    ),
  )

describe('a run', () => {
  it.runIf(process.platform === 'linux')(
    'loads no tensors in the program itself, only in its worker',
    async () => {
      const listing = join(folder, 'loaded.cjs')
      // what is loaded when the process ends; the worker is killed before it could tell
      const script = `process.on('exit', () => console.error(
        Object.keys(require('module')._cache).filter(path => path.includes('@tensorflow')).length +
        ' of ' + Object.keys(require('module')._cache).length))`
      writeFileSync(listing, script)
      const argv = ['--require', listing, program, ...TINY, '--output', 'light']
      const {code, stderr} = await execute(process.execPath, argv)
      expect(code).toBe(0)
      expect(stderr).toMatch(/saved in light\nevery table: .*\n0 of [1-9]\d+\n$/)
    },
  )

  const refused: [string, string[], number, string, string?][] = [
    ['a flag that is wrong', ['--replicates', 'many'], 2, 'BAD_RANGE'],
    ['a backend that cannot run', [], 3, 'BACKEND_MISSING'],
    ['one of several that cannot', ['--backend', 'wasm'], 3, 'BACKEND_MISSING', 'bench'],
  ]
  it.each(sample(refused, 3, 1))(
    'writes nothing and leaves no process after %s',
    async (_, flags, code, name, command = 'error-sweep') => {
      const argv = [command, '--quick', '--backend', 'native', '--output', 'refused', ...flags]
      const env = {...process.env, RFA_NO_NATIVE: '1', RFA_TEST_MARK: `mark-${process.pid}`}
      const child = spawn(process.execPath, [program, ...argv], {cwd: folder, env})
      let stderr = ''
      child.stderr.on('data', chunk => {
        stderr += chunk
      })
      const [ending] = await once(child, 'close')
      expect(ending).toBe(code)
      expect(stderr).toContain(`Code: ${name}`)
      expect(existsSync(join(folder, 'refused'))).toBe(false)
      await expect.poll(() => processesWith(env.RFA_TEST_MARK)).toEqual([])
    },
  )

  it('is saved, not overwritten, resumed, and reported', async () => {
    const first = await rfa(...TINY, '--output', 'tiny')
    expect(first).toMatchObject({code: 0, stderr: endedIn('tiny')})
    expect(first.stdout).toMatch(/^mean-value .* averages V/m)
    const tiny = join(folder, 'tiny')
    expect(await runMain(...TINY, '--output', tiny)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('WOULD_OVERWRITE'),
    })
    const again = await rfa(...TINY, '--output', 'tiny', '--resume')
    expect(again.stdout).toBe(first.stdout)
    const report = await runMain('report', tiny, '--output', '-')
    expect(report).toMatchObject({exitCode: 0, stderr: ''})
    expect(report.stdout).toContain('| mean-value |')
  })

  it.runIf(FULL)(
    'is profiled on demand, worker by worker, in files that a resumed run keeps',
    async () => {
      const argv = [...TINY, '--threads', '2', '--profile', '--output', 'profiled', '--resume']
      mkdirSync(join(folder, 'profiled'))
      const {stderr, code} = await rfa(...argv)
      expect(code).toBe(0)
      const there = join('profiled', 'profile')
      expect(stderr.split('\n').slice(1).join('\n')).toEqual(
        endedIn('profiled', `profiles in ${there}\n`),
      )
      const names = ['worker-1.cpuprofile', 'worker-2.cpuprofile']
      expect(readdirSync(join(folder, there)).sort()).toEqual(names)
      const text = readFileSync(join(folder, there, names[0]!), 'utf8')
      const {nodes, samples, timeDeltas} = JSON.parse(text)
      expect(samples.length).toBe(timeDeltas.length)
      expect(nodes.map(({callFrame}: {callFrame: {url: string}}) => callFrame.url)).toContainEqual(
        expect.stringMatching(/\/dist\/program\//),
      )
      const journal = join(folder, 'profiled', 'records.jsonl')
      const [line] = readFileSync(journal, 'utf8').split('\n')
      writeFileSync(journal, `${line}\n`)
      expect((await rfa(...argv)).code).toBe(0)
      expect(readdirSync(join(folder, there)).slice(0, 2)).toHaveLength(2)
      expect(readdirSync(join(folder, there)).length).toBeGreaterThan(2)
      expect(readFileSync(join(folder, there, names[0]!), 'utf8')).toBe(text)
    },
  )

  it.runIf(FULL)('is the same whether it was cut short or not, by one command line', async () => {
    const argv = [...TINY.slice(0, -1), 'auto', '--threads', '2', '--output', 'again', '--resume']
    mkdirSync(join(folder, 'again'))
    expect(await rfa(...argv)).toMatchObject({
      code: 0,
      stderr: endedIn('again', 'no run in again yet: starting one\n'),
    })
    const at = (name: string) => join(folder, 'again', name)
    const [table, journal] = ['records.csv', 'records.jsonl'].map(name =>
      readFileSync(at(name), 'utf8'),
    )
    const lines = journal!.split('\n')
    writeFileSync(at('records.jsonl'), `${lines.slice(0, 2).join('\n')}\n`)
    rmSync(at('records.csv'))
    expect(await rfa(...argv)).toMatchObject({code: 0, stderr: endedIn('again')})
    expect(readFileSync(at('records.csv'), 'utf8')).toBe(table)
    expect(readFileSync(at('records.jsonl'), 'utf8').split('\n').sort()).toEqual(lines.sort())
  })

  it.runIf(FULL && process.platform === 'linux')(
    'tells what to do when a record does not fit',
    async () => {
      const argv = [...TINY, '--output', 'narrow'].map(word => `'${word}'`).join(' ')
      const limited = `ulimit -f 2; "${process.execPath}" "${program}" ${argv}` // KiB: the manifest fits
      const {stderr, code} = await execute('bash', ['-c', limited])
      expect(code).toBe(3)
      expect(stderr).toMatch(
        /^narrow.records\.jsonl: .*EFBIG.*\nCode: NOT_WRITABLE {3}Try: raise the limit/,
      )
      const saved = readFileSync(join(folder, 'narrow', 'records.jsonl'), 'utf8')
      expect(saved).toMatch(/^$|\n$/)
    },
  )

  it.each(sample(['SIGINT', 'SIGHUP'] as const, 2, 0))(
    'stops at %s, says how to go on, and leaves with 130',
    async signal => {
      const argv = [program, 'error-sweep', '--replicates', '9999', '--output', signal]
      const child = spawn(process.execPath, argv, {
        cwd: folder,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      let stderr = ''
      child.stderr.on('data', chunk => {
        stderr += chunk
      })
      const ended = new Promise(resolve => child.once('exit', resolve))
      while (!existsSync(join(folder, signal, 'manifest.json'))) await sleep(31)
      child.kill(signal)
      expect(await ended).toBe(130)
      expect(stderr).toContain(
        `Code: INTERRUPTED   Try: rfa error-sweep --replicates 9999 --output ${signal} --resume\n`,
      )
    },
  )

  it.runIf(FULL && process.platform === 'linux')(
    'shows what a benchmark has measured when it is interrupted, and goes on with the rest',
    async () => {
      const seconds = ['--processes', '2', '--min-time', '1.5', '--max-runs', '1000000']
      const grid = ['-m', 'elu', '--no-exact', '--seq-len', '16,32', '--heads', '1']
      const argv = ['bench', ...grid, ...seconds, '--backend', 'cpu', '--output', 'cut']
      const env = {...process.env, RFA_TEST_MARK: `cut-${process.pid}`}
      const child = spawn(process.execPath, [program, ...argv], {cwd: folder, env})
      const [stdout, stderr] = [said(child.stdout), said(child.stderr)]
      const ended = once(child, 'close')
      // one that plans and one for each cell: with one more, a cell has its second
      const workers = new Set<string>()
      while (workers.size < 1 + 2 + 1 && child.exitCode === null) {
        const pids = processesWith(env.RFA_TEST_MARK)
        for (const pid of pids) if (commandLineOf(pid).includes('worker.js')) workers.add(pid)
        await sleep(31)
      }
      child.kill('SIGINT')
      expect(await ended).toEqual([130, null])
      expect(stdout()).toMatch(/^rfa bench: forward pass[\s\S]*^elu +\S+ \w+ +\S+ \w+/m)
      expect(stdout()).toContain(
        'warning: interrupted: fewer turns or processes than planned in 2 of 2 cells',
      )
      expect(stderr()).toMatch(
        /^interrupted: 2 of 2 cells measured in part\nCode: INTERRUPTED {3}Try: rfa bench .* --output cut --resume$/m,
      )
      const cut = join(folder, 'cut')
      expect(readdirSync(cut).sort()).toEqual(['manifest.json', 'records.jsonl'])
      expect(processesWith(env.RFA_TEST_MARK)).toEqual([])
      const {stdout: report} = await rfa('report', 'cut', '--output', '-')
      expect(report).toContain(
        '0 of 2 cells, incomplete: 0 completed, 0 skipped, 0 failed, 2 measured',
      )

      const again = await rfa('bench', '--output', 'cut', '--resume')
      expect(again).toMatchObject({code: 0, stderr: expect.stringMatching(/^2 cells in /m)})
      expect(again.stdout).not.toContain('interrupted')
      expect(readdirSync(cut)).toContain('records.csv')
      expect(readFileSync(join(cut, 'records.jsonl'), 'utf8').trim().split('\n')).toHaveLength(4)
    },
  )
})

/** Of a process; nothing where it is gone. */
function commandLineOf(pid: string): string {
  try {
    return readFileSync(join('/proc', pid, 'cmdline'), 'utf8')
  } catch {
    return ''
  }
}

/** What a stream has said so far. */
function said(stream: NodeJS.ReadableStream): () => string {
  let text = ''
  stream.on('data', chunk => {
    text += chunk
  })
  return () => text
}

it('train adds seeds until intervals are narrow, and goes on with a run that has more of them', async () => {
  const line =
    'train --quick --methods elu --steps 12 --seeds 2 --until-ci 0.1% --max-seeds 3 --output seeds --quiet'
  const {code, stdout} = await rfa(...line.split(' '))
  expect([code, stdout]).toEqual([0, expect.stringContaining('3 seeds')])
  const run = join(folder, 'seeds')
  const numbers = () =>
    readFileSync(join(run, 'records.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map(text => JSON.parse(text).cell.run)
  expect(numbers().sort()).toEqual([0, 1, 2])
  expect(readdirSync(run)).not.toContain('checkpoints')
  expect((await rfa(...line.split(' '), '--resume')).code).toBe(0)
  expect((await rfa('train', '--output', 'seeds', '--resume', '--quiet')).code).toBe(0)
  expect(numbers()).toHaveLength(3)
})

it('what export and tune name as next runs as typed', async () => {
  const nextOf = ({code, stdout, stderr}: Ending) => {
    expect(code, stderr).toBe(0)
    const [, line] = /next: rfa (.+)$/m.exec(stdout + stderr)!
    return line!.split(' ')
  }
  const [, , input] = nextOf(
    await rfa('export', '--output', 'layers', '--layer', '1', '--max-texts', '4'),
  )
  const tune = `tune --input ${input} --steps 2 --draws 1 --output learned`
  const swap = nextOf(await rfa(...tune.split(' ')))
  const {code, stdout} = await rfa(...swap, '--quick', '--max-texts', '4', '--replicates', '1')
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining('With attention exchanged in layer 1,'),
  ])
  expect(stdout).toContain('favor-pos (tuned) orth')
})

it('tunes a model from its folder to what it loses on other texts, and goes on where it was stopped', async () => {
  const model = join(root, 'fixtures', 'charlm')
  const few = '--layers 0,2 --max-texts 9 --max-tokens 24 --steps 3 --draws 2'
  const line = `tune --model ${model} ${few} --output whole.safetensors`
  const {code, stdout, stderr} = await rfa(...line.split(' '))
  expect(code, stderr).toBe(0)
  expect(stdout).toContain('Tuning takes the loss of favor-pos orth M=64 from ')
  expect(stdout).toContain('favor-pos orth M=1024')
  expect(stderr).toContain(
    'Learned on 6 texts, judged on 3 others.\nlearned parameters: whole.safetensors',
  )
  expect(stderr).toContain('\nin PyTorch: rfa.torch.use(model, tuned="whole.safetensors")')
  expect(readdirSync(join(folder, 'whole')).sort()).toEqual([
    ...['judged.jsonl', 'learn', 'learned.jsonl', 'swap'],
  ])
  const textsIn = (name: string) =>
    readFileSync(join(folder, 'whole', name), 'utf8')
      .trim()
      .split('\n')
  expect(new Set([...textsIn('learned.jsonl'), ...textsIn('judged.jsonl')]).size).toBe(9)
  const swap = readFileSync(join(folder, 'whole', 'swap', 'records.jsonl'), 'utf8')
  const cells = swap
    .trim()
    .split('\n')
    .map(text => JSON.parse(text).cell)
  expect(cells.every(cell => cell.layers.join() === '0,2')).toBe(true)
  expect(cells[0].texts.path).toBe(join('whole', 'judged.jsonl'))

  const learned = readFileSync(join(folder, 'whole.safetensors'))
  rmSync(join(folder, 'whole', 'swap'), {recursive: true})
  const again = await rfa(...line.split(' '), '--resume', '--json')
  expect(again.code, again.stderr).toBe(0)
  expect(JSON.parse(again.stdout).counts).toMatchObject({failed: 0, total: cells.length})
  expect(readFileSync(join(folder, 'whole.safetensors'))).toEqual(learned)
})

it('learns layers in turn, goes on where it was stopped, and mixes with nothing else', async () => {
  const model = join(root, 'fixtures', 'charlm')
  // every text twice, with another end behind what is read of it
  const texts = readFileSync(join(model, 'texts.txt'), 'utf8').split('\n').slice(0, 9)
  const begun = texts.map(text => text.slice(0, 30))
  writeFileSync(
    join(folder, 'twice.txt'),
    ['one', 'two'].flatMap(end => begun.map(text => `${text} ${end}\n`)).join(''),
  )
  const few =
    '--method favor-exp --layers 0,2 --texts twice.txt --max-tokens 24 --steps 3 --draws 2'
  const line = `tune --model ${model} ${few} --loss rows --output turns.safetensors`
  const rows = (...more: string[]) => rfa(...line.split(' '), ...more)
  const {code, stdout, stderr} = await rows('--sequential')
  expect(code, stderr).toBe(0)
  expect(stdout).toContain('Tuning takes the loss of favor-exp orth M=64 from ')
  expect(stderr).not.toContain('in PyTorch')
  expect(stderr).toContain('Learned on 6 texts, judged on 3 others.')
  const report = /layer by layer: rfa (.*)/.exec(stderr)![1]!
  expect(report).toMatch(/^report turns.learn.layer0 turns.learn.layer2 --details$/)
  expect((await rfa(...report.split(' '))).stdout).toContain(
    'learned for rows of attention, layers in',
  )
  expect(readdirSync(join(folder, 'turns', 'learn'))).toEqual(['layer0', 'layer2'])
  const cellsOf = (layer: number) =>
    readFileSync(join(folder, 'turns', 'learn', `layer${layer}`, 'records.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map(text => JSON.parse(text).cell)
  expect(cellsOf(2).map(({layer, draw, loss}) => [layer, draw, loss])).toEqual([
    [2, 0, 'rows'],
    [2, 1, 'rows'],
  ])
  expect(cellsOf(2)[0].original.paths).toEqual([join('turns', 'layers', 'layer2.safetensors')])

  const learned = readFileSync(join(folder, 'turns.safetensors'))
  for (const name of ['swap', 'learn/layer2']) {
    rmSync(join(folder, 'turns', name), {recursive: true})
  }
  const again = await rows('--sequential', '--resume')
  expect(again.code, again.stderr).toBe(0)
  expect(readFileSync(join(folder, 'turns.safetensors'))).toEqual(learned)

  const alone = await rows('--resume')
  expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('turns')])
  const outputs = await rfa(
    ...line.replace('--loss rows ', '').split(' '),
    '--sequential',
    '--resume',
  )
  expect([outputs.code, outputs.stderr]).toEqual([2, expect.stringContaining('layer0')])
  mkdirSync(join(folder, 'alone', 'learn'), {recursive: true})
  writeFileSync(join(folder, 'alone', 'learn', 'manifest.json'), '{}')
  const plain = line.replace('turns.safetensors', 'alone.safetensors')
  const mixed = await rfa(...plain.split(' '), '--sequential', '--resume')
  expect([mixed.code, mixed.stderr]).toEqual([
    2,
    expect.stringContaining(
      'alone: expected a run of --sequential, got one of layers that learned by themselves',
    ),
  ])
})
