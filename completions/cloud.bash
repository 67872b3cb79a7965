# Completion of cloud for bash. Install: source <(cloud completion bash)

_cloud_shared='-o,--output -j,--json --columns --sort -H,--no-header -l,--long --color -q,--quiet -v,--verbose+ --curl --profile --account --user --role --key-id --key-file --url --stor-url --api-version --ca --insecure --timeout --max-time --retries -h,--help'

# Goes from command $1 to the one that word $2 names.
_cloud_enter() {
  case "$1/$2" in
    '/account'|'/accounts') place='account' ;;
    '/keys'|'/key') place='keys' ;;
    '/images'|'/image') place='images' ;;
    '/packages'|'/package') place='packages' ;;
    '/datacenters'|'/datacenter') place='datacenters' ;;
    '/services'|'/service') place='services' ;;
    '/stor'|'/storage') place='stor' ;;
    '/ping') place='ping' ;;
    '/api') place='api' ;;
    '/profile'|'/profiles') place='profile' ;;
    '/env') place='env' ;;
    '/local') place='local' ;;
    '/completion') place='completion' ;;
    '/help') place='' ;;
    'account/get'|'account/show') place='account get' ;;
    'account/update') place='account update' ;;
    'account/limits'|'account/ls') place='account limits' ;;
    'account/config') place='account config' ;;
    'account config/get'|'account config/show') place='account config get' ;;
    'account config/set') place='account config set' ;;
    'keys/list'|'keys/ls') place='keys list' ;;
    'keys/get'|'keys/show') place='keys get' ;;
    'keys/create'|'keys/add') place='keys create' ;;
    'keys/delete'|'keys/rm') place='keys delete' ;;
    'keys/local') place='keys local' ;;
    'images/list'|'images/ls') place='images list' ;;
    'images/get'|'images/show') place='images get' ;;
    'packages/list'|'packages/ls') place='packages list' ;;
    'packages/get'|'packages/show') place='packages get' ;;
    'datacenters/list'|'datacenters/ls') place='datacenters list' ;;
    'datacenters/get'|'datacenters/show') place='datacenters get' ;;
    'services/list'|'services/ls') place='services list' ;;
    'services/get'|'services/show') place='services get' ;;
    'stor/ls'|'stor/list') place='stor ls' ;;
    'stor/stat'|'stor/show') place='stor stat' ;;
    'stor/cat') place='stor cat' ;;
    'stor/get') place='stor get' ;;
    'stor/put') place='stor put' ;;
    'stor/mkdir') place='stor mkdir' ;;
    'stor/rm'|'stor/delete') place='stor rm' ;;
    'api/call') place='api call' ;;
    'api/'*) place='api call'; return 1 ;;
    'profile/list'|'profile/ls') place='profile list' ;;
    'profile/get'|'profile/show') place='profile get' ;;
    'profile/create'|'profile/add') place='profile create' ;;
    'profile/edit') place='profile edit' ;;
    'profile/use') place='profile use' ;;
    'profile/delete'|'profile/rm') place='profile delete' ;;
    'local/start') place='local start' ;;
    'local/stop') place='local stop' ;;
    'local/status') place='local status' ;;
    'local/serve') place='local serve' ;;
    'local/try') place='local try' ;;
    'local/logs') place='local logs' ;;
    'local/reset') place='local reset' ;;
    'completion/bash') place='completion bash' ;;
    'completion/zsh') place='completion zsh' ;;
    'completion/fish') place='completion fish' ;;
    *) return 1 ;;
  esac
}

# What can follow command $1.
_cloud_place() {
  case "$1" in
    '') commands='account keys images packages datacenters services stor ping api profile env local completion help' aliases='account=accounts keys=key images=image packages=package datacenters=datacenter services=service stor=storage profile=profiles' options="--version $_cloud_shared" ;;
    'account') commands='get update limits config' aliases='get=show limits=ls' options="$_cloud_shared" ;;
    'account get') options="$_cloud_shared" ;;
    'account update') options="--email --company-name --first-name --last-name --address --postal-code --city --state --country --phone --cns,--no-cns $_cloud_shared" ;;
    'account limits') options="$_cloud_shared" ;;
    'account config') commands='get set' aliases='get=show' options="$_cloud_shared" ;;
    'account config get') options="$_cloud_shared" ;;
    'account config set') options="--default-network $_cloud_shared" ;;
    'keys') commands='list get create delete local' aliases='list=ls get=show create=add delete=rm' options="$_cloud_shared" ;;
    'keys list') options="$_cloud_shared" ;;
    'keys get') options="$_cloud_shared" ;;
    'keys create') options="--name --attestation+ $_cloud_shared" ;;
    'keys delete') options="-y,--yes $_cloud_shared" ;;
    'keys local') options="$_cloud_shared" ;;
    'images') commands='list get' aliases='list=ls get=show' options="$_cloud_shared" ;;
    'images list') options="--name --os --version --public,--no-public --state --owner --type $_cloud_shared" ;;
    'images get') options="$_cloud_shared" ;;
    'packages') commands='list get' aliases='list=ls get=show' options="$_cloud_shared" ;;
    'packages list') options="--name --version --group --memory --disk --swap --lwps --vcpus --flexible-disk,--no-flexible-disk --brand $_cloud_shared" ;;
    'packages get') options="$_cloud_shared" ;;
    'datacenters') commands='list get' aliases='list=ls get=show' options="$_cloud_shared" ;;
    'datacenters list') options="$_cloud_shared" ;;
    'datacenters get') options="$_cloud_shared" ;;
    'services') commands='list get' aliases='list=ls get=show' options="$_cloud_shared" ;;
    'services list') options="$_cloud_shared" ;;
    'services get') options="$_cloud_shared" ;;
    'stor') commands='ls stat cat get put mkdir rm' aliases='ls=list stat=show rm=delete' options="$_cloud_shared" ;;
    'stor ls') options="-t,--time -S,--size -r,--reverse $_cloud_shared" ;;
    'stor stat') options="$_cloud_shared" ;;
    'stor cat') options="$_cloud_shared" ;;
    'stor get') options="--no-clobber $_cloud_shared" ;;
    'stor put') options="-p,--parents --type -m,--meta+ --header+ --copies --if-match --no-clobber --max-size $_cloud_shared" ;;
    'stor mkdir') options="-p,--parents $_cloud_shared" ;;
    'stor rm') options="-y,--yes $_cloud_shared" ;;
    'ping') options="$_cloud_shared" ;;
    'api') commands='call' options="-f,--field+ -F,--json-field+ --input --header+ --service -i,--include $_cloud_shared" ;;
    'api call') options="-f,--field+ -F,--json-field+ --input --header+ --service -i,--include $_cloud_shared" ;;
    'profile') commands='list get create edit use delete' aliases='list=ls get=show create=add delete=rm' options="$_cloud_shared" ;;
    'profile list') options="$_cloud_shared" ;;
    'profile get') options="--explain $_cloud_shared" ;;
    'profile create') options="--stor-key-id --allow-http --stor-ecdsa --sign-window --no-test --use --force $_cloud_shared" ;;
    'profile edit') options="--stor-key-id --allow-http --stor-ecdsa --sign-window --unset $_cloud_shared" ;;
    'profile use') options="$_cloud_shared" ;;
    'profile delete') options="-y,--yes $_cloud_shared" ;;
    'env') options="$_cloud_shared" ;;
    'local') commands='start stop status serve try logs reset' options="$_cloud_shared" ;;
    'local start') options="--data --compute-port --stor-port --http --host --allow-jobs --public-key --empty --datacenter $_cloud_shared" ;;
    'local stop') options="--data $_cloud_shared" ;;
    'local status') options="--data $_cloud_shared" ;;
    'local serve') options="--data --compute-port --stor-port --http --host --allow-jobs --public-key --empty --datacenter $_cloud_shared" ;;
    'local try') options="$_cloud_shared" ;;
    'local logs') options="--data $_cloud_shared" ;;
    'local reset') options="--data -y,--yes $_cloud_shared" ;;
    'completion') commands='bash zsh fish' options="$_cloud_shared" ;;
    'completion bash') options="$_cloud_shared" ;;
    'completion zsh') options="$_cloud_shared" ;;
    'completion fish') options="$_cloud_shared" ;;
    'help') options="$_cloud_shared" ;;
    *) return 1 ;;
  esac
}

# What option $2 of command $1 takes.
_cloud_value() {
  case "$1/$2" in
    'account update/--email') kind=text ;;
    'account update/--company-name') kind=text ;;
    'account update/--first-name') kind=text ;;
    'account update/--last-name') kind=text ;;
    'account update/--address') kind=text ;;
    'account update/--postal-code') kind=text ;;
    'account update/--city') kind=text ;;
    'account update/--state') kind=text ;;
    'account update/--country') kind=text ;;
    'account update/--phone') kind=text ;;
    'account config set/--default-network') kind=text ;;
    'keys create/--name') kind=text ;;
    'keys create/--attestation') kind=file ;;
    'images list/--name') kind=text ;;
    'images list/--os') kind=text ;;
    'images list/--version') kind=text ;;
    'images list/--state') kind=words choices='active unactivated disabled creating failed all' ;;
    'images list/--owner') kind=text ;;
    'images list/--type') kind=text ;;
    'packages list/--name') kind=text ;;
    'packages list/--version') kind=text ;;
    'packages list/--group') kind=text ;;
    'packages list/--memory') kind=text ;;
    'packages list/--disk') kind=text ;;
    'packages list/--swap') kind=text ;;
    'packages list/--lwps') kind=text ;;
    'packages list/--vcpus') kind=text ;;
    'packages list/--brand') kind=text ;;
    'stor put/--type') kind=text ;;
    'stor put/-m'|'stor put/--meta') kind=text ;;
    'stor put/--header') kind=text ;;
    'stor put/--copies') kind=text ;;
    'stor put/--if-match') kind=text ;;
    'stor put/--max-size') kind=text ;;
    'api/-f'|'api/--field') kind=text ;;
    'api/-F'|'api/--json-field') kind=text ;;
    'api/--input') kind=file ;;
    'api/--header') kind=text ;;
    'api/--service') kind=words choices='compute stor' ;;
    'api call/-f'|'api call/--field') kind=text ;;
    'api call/-F'|'api call/--json-field') kind=text ;;
    'api call/--input') kind=file ;;
    'api call/--header') kind=text ;;
    'api call/--service') kind=words choices='compute stor' ;;
    'profile create/--stor-key-id') kind=text ;;
    'profile create/--sign-window') kind=text ;;
    'profile edit/--stor-key-id') kind=text ;;
    'profile edit/--sign-window') kind=text ;;
    'profile edit/--unset') kind=text ;;
    'local start/--data') kind=directory ;;
    'local start/--compute-port') kind=text ;;
    'local start/--stor-port') kind=text ;;
    'local start/--host') kind=text ;;
    'local start/--public-key') kind=file ;;
    'local start/--datacenter') kind=text ;;
    'local stop/--data') kind=directory ;;
    'local status/--data') kind=directory ;;
    'local serve/--data') kind=directory ;;
    'local serve/--compute-port') kind=text ;;
    'local serve/--stor-port') kind=text ;;
    'local serve/--host') kind=text ;;
    'local serve/--public-key') kind=file ;;
    'local serve/--datacenter') kind=text ;;
    'local logs/--data') kind=directory ;;
    'local reset/--data') kind=directory ;;
    */-o|*/--output) kind=words choices='table json jsonl yaml csv tsv name' ;;
    */--columns) kind=text ;;
    */--sort) kind=text ;;
    */--color) kind=words choices='auto always never' ;;
    */--profile) kind=profile ;;
    */--account) kind=text ;;
    */--user) kind=text ;;
    */--role) kind=text ;;
    */--key-id) kind=text ;;
    */--key-file) kind=file ;;
    */--url) kind=text ;;
    */--stor-url) kind=text ;;
    */--api-version) kind=text ;;
    */--ca) kind=file ;;
    */--timeout) kind=text ;;
    */--max-time) kind=text ;;
    */--retries) kind=text ;;
    *) return 1 ;;
  esac
}

# What argument number $2 of command $1 is.
_cloud_argument() {
  case "$1/$2" in
    'keys get/0') kind=text ;;
    'keys create/0') kind=file ;;
    'keys delete/'*) kind=text ;;
    'images get/0') kind=text ;;
    'packages get/0') kind=text ;;
    'datacenters get/0') kind=text ;;
    'services get/0') kind=text ;;
    'stor ls/'*) kind=text ;;
    'stor stat/0') kind=text ;;
    'stor cat/'*) kind=text ;;
    'stor get/'*) kind=text ;;
    'stor put/'*) kind=file ;;
    'stor mkdir/'*) kind=text ;;
    'stor rm/'*) kind=text ;;
    'api/0') kind=text ;;
    'api/1') kind=text ;;
    'api call/0') kind=text ;;
    'api call/1') kind=text ;;
    'profile get/0') kind=profile ;;
    'profile create/0') kind=text ;;
    'profile edit/0') kind=profile ;;
    'profile use/0') kind=profile ;;
    'profile delete/'*) kind=profile ;;
    'env/0') kind=profile ;;
    'help/'*) kind=text ;;
    *) return 1 ;;
  esac
}
# Takes the letters of $1 (-yo) up to the first with a value; sets letter to that one and rest to what follows it.
_cloud_letters() {
  local at
  letter='' rest=''
  for ((at = 1; at < ${#1}; at++)); do
    given+="-${1:at:1} "
    if _cloud_value "$place" "-${1:at:1}"; then
      letter=-${1:at:1} rest=${1:at+1}
      return 0
    fi
  done
  return 1
}

# Takes a word that stands before the cursor.
_cloud_take() {
  local letter rest
  if [[ -n $pending ]]; then
    pending=''
  elif [[ -n $ended ]]; then
    ((count += 1))
  elif [[ $1 == -- ]]; then
    ended=1
  elif [[ $1 == --* ]]; then
    given+="${1%%=*} "
    [[ $1 == *=* ]] || ! _cloud_value "$place" "$1" || pending=$1
  elif [[ $1 == -?* ]]; then
    ! _cloud_letters "$1" || [[ -n $rest ]] || pending=$letter
  else
    _cloud_enter "$place" "$1" || ((count += 1))
  fi
}

# Offers a word: without the part that readline does not take for a part of the word.
_cloud_offer() {
  local word=$prefix$1
  [[ $word == "$typed"* ]] && COMPREPLY+=("${word#"$kept"}")
}

_cloud_offer_value() {
  local word config=${XDG_CONFIG_HOME:-}
  case $kind in
    words) for word in $choices; do _cloud_offer "$word"; done ;;
    file) compopt -o default 2>/dev/null ;;
    directory) compopt -o dirnames 2>/dev/null ;;
    profile)
      [[ $config == /* ]] || config=$HOME/.config
      for word in "$config"/cloud/profiles/*.json; do
        word=${word##*/}
        [[ $word == '*.json' ]] || _cloud_offer "${word%.json}"
      done
      ;;
  esac
}

# Options in their long form, without those that are there already; a + at the end says that it may be repeated.
_cloud_offer_options() {
  local option name isThere
  for option in $options; do
    isThere=''
    for name in ${option//,/ }; do [[ $given != *" $name "* ]] || isThere=1; done
    [[ -z $isThere || $option == *+ ]] || continue
    option=${option%+}
    for name in ${option//,/ }; do [[ $name != --* ]] || _cloud_offer "$name"; done
  done
}

# Other names of a command are offered when its own does not begin as the word does.
_cloud_offer_commands() {
  local name pair
  for name in $commands; do _cloud_offer "$name"; done
  [[ -n $typed ]] || return
  for pair in $aliases; do [[ ${pair%%=*} == "$typed"* ]] || _cloud_offer "${pair#*=}"; done
}

_cloud() {
  local IFS=$' \t\n' i word words=() line=${COMP_LINE:0:COMP_POINT}
  local place='' count=0 pending='' ended='' given=' ' letter='' rest='' prefix=''
  local commands='' aliases='' options='' kind='' choices=''
  COMPREPLY=()
  # readline breaks words at = and : too: they are put together again.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((i == 0)) || [[ $line == [[:blank:]]* ]]; then
      line=${line#"${line%%[![:blank:]]*}"}
      words+=('')
    fi
    [[ $line == "$word"* ]] || word=$line
    words[${#words[@]} - 1]+=$word
    line=${line#"$word"}
  done
  local last=$((${#words[@]} - 1))
  for ((i = 1; i < last; i++)); do _cloud_take "${words[i]}"; done
  local typed=${words[last]} current=${2-}
  local kept=${typed%"$current"}
  _cloud_place "$place"
  if [[ -n $pending ]]; then
    _cloud_value "$place" "$pending" && _cloud_offer_value
  elif [[ -z $ended && $typed == --*=* ]]; then
    prefix=${typed%%=*}=
    _cloud_value "$place" "${typed%%=*}" && _cloud_offer_value
  elif [[ -z $ended && $typed == -[!-]* ]] && _cloud_letters "$typed" && [[ -n $rest ]]; then
    prefix=${typed%"$rest"}
    _cloud_offer_value
  elif [[ -z $ended && $typed == -* ]]; then
    _cloud_offer_options
  else
    [[ -n $ended ]] || ((count > 0)) || _cloud_offer_commands
    ! _cloud_argument "$place" "$count" || _cloud_offer_value
    [[ -n $ended || -n $typed || -n $kind || -n $commands ]] || _cloud_offer_options
  fi
}

# bash before 4 cannot say from inside that file names are wanted.
if type compopt >/dev/null 2>&1; then complete -F _cloud cloud; else complete -o default -F _cloud cloud; fi
