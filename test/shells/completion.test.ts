/** What the shells offer after the scripts of `rfa completion` were read. */
import {writeFileSync} from 'node:fs'
import {mkdir, readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {beforeAll, expect, it} from 'vitest'
import Completion from '../../commands/completion.js'
import {METHOD_NAMES} from '../../src/attention/names.js'
import {BACKEND_CHOICES} from '../../src/backends/index.js'
import {run} from '../cli/services.js'
import {commandIds} from '../helpers/commands.js'
import {temporaryFolder} from '../helpers/folders.js'
import {describeShells, inShell, type Shell} from '../helpers/shells.js'

/** Types a line in a zsh on a terminal of its own, and writes down what completion adds to the list of matches. */
const ZSH = String.raw`
zmodload zsh/zpty
script=$1 out=$2 line=$3
cat > $out.rc <<'END'
PROMPT=
autoload -Uz compinit && compinit -u -D
compadd() {
  if [[ " $@ " == *' -'[OAD]' '* ]]; then builtin compadd "$@"; return; fi
  local -a hits
  builtin compadd -A hits "$@"
  print -rl -- $hits >> $OUT
  builtin compadd "$@"
}
log-completion() { _main_complete; print DONE >> $OUT.done }
zle -C log-completion complete-word log-completion
bindkey '^X' log-completion
END
zpty typist "OUT=$out zsh -f -i"
zpty -w typist "source $out.rc; source $script; print -n > $out; print > $out.ready"
for try in {1..600}; do [[ -e $out.ready ]] && break; sleep 0.05; zpty -r -t typist seen; done
zpty -w -n typist "$line"$'\x18'
for try in {1..600}; do [[ -e $out.done ]] && break; sleep 0.05; zpty -r -t typist seen; done
zpty -d typist
[[ -e $out.done ]]
`

/** The command that prints what a shell offers at the end of a line. */
async function offered(shell: Shell, script: string, line: string, folder: string) {
  const words = line.split(' ')
  if (shell === 'fish')
    return lines(await inShell(shell, `source ${script}; complete -C '${line}'`, {cwd: folder}))
  if (shell === 'bash') {
    // readline takes words apart at =
    const split = words.flatMap(word => word.split(/(=)/)).map(word => `"${word}"`)
    const set = `COMP_WORDS=(${split.join(' ')}); COMP_CWORD=${split.length - 1}`
    const show = `printf '%s\n' "\${COMPREPLY[@]}"`
    return lines(await inShell(shell, `source ${script}; ${set}; _rfa; ${show}`, {cwd: folder}))
  }
  const [driver, out] = [join(folder, 'type.zsh'), join(folder, `${Math.random()}`)]
  writeFileSync(driver, ZSH)
  const {code, stderr} = await inShell(shell, `source ${driver} ${script} ${out} '${line}'`, {
    cwd: folder,
  })
  expect(code, stderr).toBe(0)
  return lines({stdout: await readFile(out, 'utf8')})
}

/** One candidate a line, without its description; a list is compared by its last item. */
function lines({stdout}: {stdout: string}): string[] {
  const names = stdout.split('\n').map(text => text.split('\t')[0]!.trim())
  return [...new Set(names.filter(Boolean))].sort()
}

const last = (name: string) => name.replace(/^.*[,=]/, '')

describeShells('completion', shell => {
  const folder = temporaryFolder()
  const script = join(folder, 'script')
  const after = (line: string) => offered(shell, script, line, folder)

  beforeAll(async () => {
    const {stdout} = await run(Completion, 'completion', [shell])
    writeFileSync(script, stdout)
    await mkdir(join(folder, 'results'))
  })

  it('offers the commands', async () => {
    expect(await after('rfa ')).toEqual(expect.arrayContaining(commandIds))
    expect(await after('rfa err')).toContain('error-sweep')
  })

  it('offers the flags of a command, and no others', async () => {
    expect(await after('rfa bench --ca')).toEqual(['--causal'])
    const flags = await after('rfa bench --')
    expect(flags).toEqual(
      expect.arrayContaining(['--methods', '--seq-len', '--json', '--no-exact']),
    )
    expect(flags).not.toContain('--norms')
  })

  it.each(['rfa bench --backend ', 'rfa bench --methods elu --backend '])(
    'offers names of a registry after %j',
    async line => {
      expect(await after(line)).toEqual([...BACKEND_CHOICES].sort())
    },
  )

  it.each([
    'rfa bench --methods ',
    'rfa bench -m ',
    'rfa bench --methods elu,',
    'rfa error-sweep --quick --methods=',
  ])('offers methods after %j', async line => {
    const names = (await after(line)).map(last)
    expect(names).toEqual(expect.arrayContaining(METHOD_NAMES.filter(name => name !== 'elu')))
    expect(names).not.toContain('orth')
  })

  it('narrows them by what is typed of the last one of a list', async () => {
    const names = (await after('rfa bench --methods elu,favor-p')).map(last)
    expect(names.filter(name => name.startsWith('favor'))).toEqual(['favor-pos'])
  })

  it('offers folders of runs to report, and nothing where a number is to be typed', async () => {
    expect((await after('rfa bench --seed ')).filter(name => !name.startsWith('-'))).toEqual([])
    if (shell === 'bash') return // readline itself completes folders
    expect((await after('rfa report res')).map(name => name.replace(/\/$/, ''))).toContain(
      'results',
    )
  })
})
