# Completion of cloud for bash. Install: source <(cloud completion bash)

_cloud_shared='-o,--output -j,--json --jq --columns --sort -H,--no-header -l,--long --color --no-input --no-pager -q,--quiet -v,--verbose+ --curl --profile --account --user --role --key-id --key-file --url --stor-url --api-version --ca --insecure --timeout --max-time --retries --max-requests-per-second -h,--help'

# Goes from command $1 to the one that word $2 names.
_cloud_enter() {
  case "$1/$2" in
    '/account'|'/accounts') place='account' ;;
    '/keys'|'/key') place='keys' ;;
    '/users'|'/user') place='users' ;;
    '/roles'|'/role') place='roles' ;;
    '/policies'|'/policy') place='policies' ;;
    '/rbac') place='rbac' ;;
    '/images'|'/image') place='images' ;;
    '/packages'|'/package') place='packages' ;;
    '/datacenters'|'/datacenter') place='datacenters' ;;
    '/services'|'/service') place='services' ;;
    '/stor'|'/storage') place='stor' ;;
    '/mpu'|'/uploads') place='mpu' ;;
    '/jobs'|'/job') place='jobs' ;;
    '/resume') place='resume' ;;
    '/ping') place='ping' ;;
    '/api') place='api' ;;
    '/url') place='url' ;;
    '/profile'|'/profiles') place='profile' ;;
    '/env') place='env' ;;
    '/local') place='local' ;;
    '/server') place='server' ;;
    '/conformance') place='conformance' ;;
    '/doctor') place='doctor' ;;
    '/version') place='version' ;;
    '/alias'|'/aliases') place='alias' ;;
    '/completion') place='completion' ;;
    '/help') place='help' ;;
    'account/get'|'account/show') place='account get' ;;
    'account/update') place='account update' ;;
    'account/limits') place='account limits' ;;
    'account/config') place='account config' ;;
    'account config/get'|'account config/show') place='account config get' ;;
    'account config/set') place='account config set' ;;
    'keys/list'|'keys/ls') place='keys list' ;;
    'keys/get'|'keys/show') place='keys get' ;;
    'keys/create'|'keys/add') place='keys create' ;;
    'keys/delete'|'keys/rm') place='keys delete' ;;
    'keys/rotate') place='keys rotate' ;;
    'keys/local') place='keys local' ;;
    'users/list'|'users/ls') place='users list' ;;
    'users/get'|'users/show') place='users get' ;;
    'users/create'|'users/add') place='users create' ;;
    'users/update') place='users update' ;;
    'users/password') place='users password' ;;
    'users/delete'|'users/rm') place='users delete' ;;
    'users/keys') place='users keys' ;;
    'users keys/list'|'users keys/ls') place='users keys list' ;;
    'users keys/get'|'users keys/show') place='users keys get' ;;
    'users keys/create'|'users keys/add') place='users keys create' ;;
    'users keys/delete'|'users keys/rm') place='users keys delete' ;;
    'roles/list'|'roles/ls') place='roles list' ;;
    'roles/get'|'roles/show') place='roles get' ;;
    'roles/create'|'roles/add') place='roles create' ;;
    'roles/update') place='roles update' ;;
    'roles/edit') place='roles edit' ;;
    'roles/delete'|'roles/rm') place='roles delete' ;;
    'roles/tags') place='roles tags' ;;
    'roles tags/get'|'roles tags/show') place='roles tags get' ;;
    'roles tags/set') place='roles tags set' ;;
    'roles tags/add') place='roles tags add' ;;
    'roles tags/remove'|'roles tags/rm') place='roles tags remove' ;;
    'policies/list'|'policies/ls') place='policies list' ;;
    'policies/get'|'policies/show') place='policies get' ;;
    'policies/create'|'policies/add') place='policies create' ;;
    'policies/update') place='policies update' ;;
    'policies/edit') place='policies edit' ;;
    'policies/delete'|'policies/rm') place='policies delete' ;;
    'policies/check') place='policies check' ;;
    'policies/simulate') place='policies simulate' ;;
    'policies/who-can') place='policies who-can' ;;
    'rbac/export') place='rbac export' ;;
    'rbac/diff') place='rbac diff' ;;
    'rbac/apply') place='rbac apply' ;;
    'rbac/impact') place='rbac impact' ;;
    'rbac/graph') place='rbac graph' ;;
    'rbac/schema') place='rbac schema' ;;
    'images/list'|'images/ls') place='images list' ;;
    'images/get'|'images/show') place='images get' ;;
    'images/create') place='images create' ;;
    'images/import') place='images import' ;;
    'images/export') place='images export' ;;
    'images/clone') place='images clone' ;;
    'images/pipeline') place='images pipeline' ;;
    'images/promote') place='images promote' ;;
    'images/update') place='images update' ;;
    'images/share') place='images share' ;;
    'images/unshare') place='images unshare' ;;
    'images/tags') place='images tags' ;;
    'images/wait') place='images wait' ;;
    'images/delete'|'images/rm') place='images delete' ;;
    'images tags/get'|'images tags/list'|'images tags/show') place='images tags get' ;;
    'images tags/set') place='images tags set' ;;
    'images tags/unset'|'images tags/rm'|'images tags/remove') place='images tags unset' ;;
    'packages/list'|'packages/ls') place='packages list' ;;
    'packages/get'|'packages/show') place='packages get' ;;
    'datacenters/list'|'datacenters/ls') place='datacenters list' ;;
    'datacenters/get'|'datacenters/show') place='datacenters get' ;;
    'services/list'|'services/ls') place='services list' ;;
    'services/get'|'services/show') place='services get' ;;
    'stor/ls'|'stor/list') place='stor ls' ;;
    'stor/find') place='stor find' ;;
    'stor/tree') place='stor tree' ;;
    'stor/du') place='stor du' ;;
    'stor/stat'|'stor/show') place='stor stat' ;;
    'stor/cat') place='stor cat' ;;
    'stor/get') place='stor get' ;;
    'stor/put') place='stor put' ;;
    'stor/mkdir') place='stor mkdir' ;;
    'stor/rm'|'stor/delete') place='stor rm' ;;
    'stor/cp') place='stor cp' ;;
    'stor/mv') place='stor mv' ;;
    'stor/ln') place='stor ln' ;;
    'stor/meta') place='stor meta' ;;
    'stor/sync') place='stor sync' ;;
    'stor/diff') place='stor diff' ;;
    'stor/snapshot'|'stor/snapshots') place='stor snapshot' ;;
    'stor/sign') place='stor sign' ;;
    'stor/roles') place='stor roles' ;;
    'stor/run') place='stor run' ;;
    'stor meta/get'|'stor meta/show'|'stor meta/list') place='stor meta get' ;;
    'stor meta/set') place='stor meta set' ;;
    'stor meta/unset') place='stor meta unset' ;;
    'stor meta/replace') place='stor meta replace' ;;
    'stor snapshot/create') place='stor snapshot create' ;;
    'stor snapshot/list'|'stor snapshot/ls') place='stor snapshot list' ;;
    'stor snapshot/diff') place='stor snapshot diff' ;;
    'stor snapshot/restore') place='stor snapshot restore' ;;
    'stor snapshot/delete'|'stor snapshot/rm') place='stor snapshot delete' ;;
    'stor snapshot/prune') place='stor snapshot prune' ;;
    'stor roles/get'|'stor roles/show') place='stor roles get' ;;
    'stor roles/set') place='stor roles set' ;;
    'stor roles/add') place='stor roles add' ;;
    'stor roles/remove') place='stor roles remove' ;;
    'mpu/create'|'mpu/add') place='mpu create' ;;
    'mpu/upload') place='mpu upload' ;;
    'mpu/put-part') place='mpu put-part' ;;
    'mpu/parts') place='mpu parts' ;;
    'mpu/get'|'mpu/show') place='mpu get' ;;
    'mpu/commit') place='mpu commit' ;;
    'mpu/abort'|'mpu/delete'|'mpu/rm') place='mpu abort' ;;
    'mpu/list'|'mpu/ls') place='mpu list' ;;
    'jobs/run') place='jobs run' ;;
    'jobs/list'|'jobs/ls') place='jobs list' ;;
    'jobs/get'|'jobs/show') place='jobs get' ;;
    'jobs/create') place='jobs create' ;;
    'jobs/add') place='jobs add' ;;
    'jobs/end') place='jobs end' ;;
    'jobs/cancel') place='jobs cancel' ;;
    'jobs/wait') place='jobs wait' ;;
    'jobs/watch') place='jobs watch' ;;
    'jobs/inputs') place='jobs inputs' ;;
    'jobs/outputs') place='jobs outputs' ;;
    'jobs/failures') place='jobs failures' ;;
    'jobs/errors') place='jobs errors' ;;
    'api/call') place='api call' ;;
    'api/sign') place='api sign' ;;
    'api/'*) place='api call'; return 1 ;;
    'url/explain') place='url explain' ;;
    'profile/list'|'profile/ls') place='profile list' ;;
    'profile/get'|'profile/show') place='profile get' ;;
    'profile/create'|'profile/add') place='profile create' ;;
    'profile/edit') place='profile edit' ;;
    'profile/use') place='profile use' ;;
    'profile/delete'|'profile/rm') place='profile delete' ;;
    'profile/import') place='profile import' ;;
    'local/start') place='local start' ;;
    'local/stop') place='local stop' ;;
    'local/status') place='local status' ;;
    'local/run') place='local run' ;;
    'local/serve') place='local serve' ;;
    'local/try') place='local try' ;;
    'local/logs') place='local logs' ;;
    'local/seed') place='local seed' ;;
    'local/reset') place='local reset' ;;
    'local/snapshot') place='local snapshot' ;;
    'local/fork') place='local fork' ;;
    'local/clock') place='local clock' ;;
    'local/faults') place='local faults' ;;
    'local/requests') place='local requests' ;;
    'local/record') place='local record' ;;
    'local snapshot/create') place='local snapshot create' ;;
    'local snapshot/list') place='local snapshot list' ;;
    'local snapshot/restore') place='local snapshot restore' ;;
    'local snapshot/delete') place='local snapshot delete' ;;
    'local faults/list') place='local faults list' ;;
    'local faults/add') place='local faults add' ;;
    'local faults/clear') place='local faults clear' ;;
    'server/gateway') place='server gateway' ;;
    'server/worker') place='server worker' ;;
    'server/migrate') place='server migrate' ;;
    'server/collect') place='server collect' ;;
    'server/status') place='server status' ;;
    'server/audit') place='server audit' ;;
    'server/apply') place='server apply' ;;
    'server/diff') place='server diff' ;;
    'server/import') place='server import' ;;
    'server/accounts'|'server/account') place='server accounts' ;;
    'server accounts/list'|'server accounts/ls') place='server accounts list' ;;
    'server accounts/create') place='server accounts create' ;;
    'server accounts/limit') place='server accounts limit' ;;
    'server accounts/disable') place='server accounts disable' ;;
    'server accounts/enable') place='server accounts enable' ;;
    'server accounts/delete'|'server accounts/rm') place='server accounts delete' ;;
    'alias/list'|'alias/ls') place='alias list' ;;
    'alias/set'|'alias/create'|'alias/add') place='alias set' ;;
    'alias/delete'|'alias/rm') place='alias delete' ;;
    'completion/bash') place='completion bash' ;;
    'completion/zsh') place='completion zsh' ;;
    'completion/fish') place='completion fish' ;;
    'help/account'|'help/accounts') place='account' ;;
    'help/keys'|'help/key') place='keys' ;;
    'help/users'|'help/user') place='users' ;;
    'help/roles'|'help/role') place='roles' ;;
    'help/policies'|'help/policy') place='policies' ;;
    'help/rbac') place='rbac' ;;
    'help/images'|'help/image') place='images' ;;
    'help/packages'|'help/package') place='packages' ;;
    'help/datacenters'|'help/datacenter') place='datacenters' ;;
    'help/services'|'help/service') place='services' ;;
    'help/stor'|'help/storage') place='stor' ;;
    'help/mpu'|'help/uploads') place='mpu' ;;
    'help/jobs'|'help/job') place='jobs' ;;
    'help/resume') place='resume' ;;
    'help/ping') place='ping' ;;
    'help/api') place='api' ;;
    'help/url') place='url' ;;
    'help/profile'|'help/profiles') place='profile' ;;
    'help/env') place='env' ;;
    'help/local') place='local' ;;
    'help/server') place='server' ;;
    'help/conformance') place='conformance' ;;
    'help/doctor') place='doctor' ;;
    'help/version') place='version' ;;
    'help/alias'|'help/aliases') place='alias' ;;
    'help/completion') place='completion' ;;
    'help/help') place='help' ;;
    'help/signing') place='help topic' ;;
    'help/policy-language') place='help topic' ;;
    'help/scripting') place='help topic' ;;
    'help/job-tools') place='help topic' ;;
    'help/local-service') place='help topic' ;;
    'help/testing') place='help topic' ;;
    'help/cluster') place='help topic' ;;
    'help/exit-codes') place='help topic' ;;
    'help/files') place='help topic' ;;
    'help/options') place='help topic' ;;
    'help/transfer') place='help topic' ;;
    'help/compare') place='help topic' ;;
    'help/filters') place='help topic' ;;
    'help/names') place='help topic' ;;
    'help/engines') place='help topic' ;;
    'help/tasks') place='help topic' ;;
    *) return 1 ;;
  esac
}

# What can follow command $1.
_cloud_place() {
  case "$1" in
    '') commands='account keys users roles policies rbac images packages datacenters services stor mpu jobs resume ping api url profile env local server conformance doctor version alias completion help' aliases='account=accounts keys=key users=user roles=role policies=policy images=image packages=package datacenters=datacenter services=service stor=storage mpu=uploads jobs=job profile=profiles alias=aliases' options="--version $_cloud_shared" ;;
    'account') commands='get update limits config' aliases='get=show' options="$_cloud_shared" ;;
    'account get') options="$_cloud_shared" ;;
    'account update') options="--email --company-name --first-name --last-name --address --postal-code --city --state --country --phone --cns,--no-cns --from $_cloud_shared" ;;
    'account limits') options="--dc $_cloud_shared" ;;
    'account config') commands='get set' aliases='get=show' options="$_cloud_shared" ;;
    'account config get') options="$_cloud_shared" ;;
    'account config set') options="--default-network $_cloud_shared" ;;
    'keys') commands='list get create delete rotate local' aliases='list=ls get=show create=add delete=rm' options="$_cloud_shared" ;;
    'keys list') options="--dc $_cloud_shared" ;;
    'keys get') options="--dc $_cloud_shared" ;;
    'keys create') options="--name --attestation+ $_cloud_shared" ;;
    'keys delete') options="-y,--yes -n,--dry-run $_cloud_shared" ;;
    'keys rotate') options="-y,--yes -n,--dry-run --name --type --encrypt,--no-encrypt $_cloud_shared" ;;
    'keys local') options="$_cloud_shared" ;;
    'users') commands='list get create update password delete keys' aliases='list=ls get=show create=add delete=rm' options="$_cloud_shared" ;;
    'users list') options="--dc $_cloud_shared" ;;
    'users get') options="--membership $_cloud_shared" ;;
    'users create') options="--email --company-name --first-name --last-name --address --postal-code --city --state --country --phone --from --password-stdin --password-file --wait --wait-timeout $_cloud_shared" ;;
    'users update') options="--login --email --company-name --first-name --last-name --address --postal-code --city --state --country --phone --from --wait --wait-timeout $_cloud_shared" ;;
    'users password') options="--password-stdin --password-file $_cloud_shared" ;;
    'users delete') options="-y,--yes -n,--dry-run --wait --wait-timeout $_cloud_shared" ;;
    'users keys') commands='list get create delete' aliases='list=ls get=show create=add delete=rm' options="$_cloud_shared" ;;
    'users keys list') options="$_cloud_shared" ;;
    'users keys get') options="$_cloud_shared" ;;
    'users keys create') options="--name --attestation+ $_cloud_shared" ;;
    'users keys delete') options="-y,--yes -n,--dry-run $_cloud_shared" ;;
    'roles') commands='list get create update edit delete tags' aliases='list=ls get=show create=add delete=rm' options="$_cloud_shared" ;;
    'roles list') options="--dc $_cloud_shared" ;;
    'roles get') options="--dc $_cloud_shared" ;;
    'roles create') options="--member+ --default-member+ --policy+ --from --wait --wait-timeout $_cloud_shared" ;;
    'roles update') options="--name --add-member+ --add-default-member+ --remove-member+ --add-policy+ --remove-policy+ --from --wait --wait-timeout $_cloud_shared" ;;
    'roles edit') options="--wait --wait-timeout $_cloud_shared" ;;
    'roles delete') options="-y,--yes -n,--dry-run --wait --wait-timeout $_cloud_shared" ;;
    'roles tags') commands='get set add remove' aliases='get=show remove=rm' options="$_cloud_shared" ;;
    'roles tags get') options="$_cloud_shared" ;;
    'roles tags set') options="-r,--recursive -n,--dry-run $_cloud_shared" ;;
    'roles tags add') options="$_cloud_shared" ;;
    'roles tags remove') options="$_cloud_shared" ;;
    'policies') commands='list get create update edit delete check simulate who-can' aliases='list=ls get=show create=add delete=rm' options="$_cloud_shared" ;;
    'policies list') options="--dc $_cloud_shared" ;;
    'policies get') options="--dc $_cloud_shared" ;;
    'policies create') options="--rule+ --description --from --wait --wait-timeout $_cloud_shared" ;;
    'policies update') options="--name --description --rule+ --add-rule+ --remove-rule+ --from --wait --wait-timeout $_cloud_shared" ;;
    'policies edit') options="--wait --wait-timeout $_cloud_shared" ;;
    'policies delete') options="-y,--yes -n,--dry-run --wait --wait-timeout $_cloud_shared" ;;
    'policies check') options="$_cloud_shared" ;;
    'policies simulate') options="--with-role+ --at --source --datacenter --from --expect $_cloud_shared" ;;
    'policies who-can') options="--at --source --datacenter --from $_cloud_shared" ;;
    'rbac') commands='export diff apply impact graph schema' options="$_cloud_shared" ;;
    'rbac export') options="--tree+ $_cloud_shared" ;;
    'rbac diff') options="--prune --exit-code $_cloud_shared" ;;
    'rbac apply') options="--prune -n,--dry-run -y,--yes --wait-timeout $_cloud_shared" ;;
    'rbac impact') options="--delete-role+ --prune --at --source --datacenter $_cloud_shared" ;;
    'rbac graph') options="-o,--output -j,--json --jq --columns --sort -H,--no-header -l,--long --color --no-input --no-pager -q,--quiet -v,--verbose+ --curl --profile --account --user --role --key-id --key-file --url --stor-url --api-version --ca --insecure --timeout --max-time --retries --max-requests-per-second -h,--help" ;;
    'rbac schema') options="$_cloud_shared" ;;
    'images') commands='list get create import export clone pipeline promote update share unshare tags wait delete' aliases='list=ls get=show delete=rm' options="$_cloud_shared" ;;
    'images list') options="--name --os --version --public,--no-public --state --owner --type --dc $_cloud_shared" ;;
    'images get') options="--dc $_cloud_shared" ;;
    'images create') options="--description --homepage --eula --tag+ --from --acl+ --wait --wait-timeout $_cloud_shared" ;;
    'images import') options="$_cloud_shared" ;;
    'images export') options="$_cloud_shared" ;;
    'images clone') options="$_cloud_shared" ;;
    'images pipeline') options="--description --homepage --eula --tag+ --to --from --path --wait-timeout -n,--dry-run $_cloud_shared" ;;
    'images promote') options="--to --from -n,--dry-run $_cloud_shared" ;;
    'images update') options="--name --version --description --homepage --eula --tag+ --from --acl+ $_cloud_shared" ;;
    'images share') options="$_cloud_shared" ;;
    'images unshare') options="$_cloud_shared" ;;
    'images tags') commands='get set unset' aliases='get=list get=show unset=rm unset=remove' options="$_cloud_shared" ;;
    'images tags get') options="$_cloud_shared" ;;
    'images tags set') options="$_cloud_shared" ;;
    'images tags unset') options="$_cloud_shared" ;;
    'images wait') options="--state --wait-timeout $_cloud_shared" ;;
    'images delete') options="-y,--yes -n,--dry-run $_cloud_shared" ;;
    'packages') commands='list get' aliases='list=ls get=show' options="$_cloud_shared" ;;
    'packages list') options="--name --version --group --memory --disk --swap --lwps --vcpus --flexible-disk,--no-flexible-disk --brand --dc $_cloud_shared" ;;
    'packages get') options="--dc $_cloud_shared" ;;
    'datacenters') commands='list get' aliases='list=ls get=show' options="$_cloud_shared" ;;
    'datacenters list') options="$_cloud_shared" ;;
    'datacenters get') options="$_cloud_shared" ;;
    'services') commands='list get' aliases='list=ls get=show' options="$_cloud_shared" ;;
    'services list') options="--dc $_cloud_shared" ;;
    'services get') options="--dc $_cloud_shared" ;;
    'stor') commands='ls find tree du stat cat get put mkdir rm cp mv ln meta sync diff snapshot sign roles run' aliases='ls=list stat=show rm=delete snapshot=snapshots' options="$_cloud_shared" ;;
    'stor ls') options="-t,--time -S,--size -r,--reverse -h,--human -0,--print0 --glob --literal --paths-from -o,--output -j,--json --jq --columns --sort -H,--no-header -l,--long --color --no-input --no-pager -q,--quiet -v,--verbose+ --curl --profile --account --user --role --key-id --key-file --url --stor-url --api-version --ca --insecure --timeout --max-time --retries --max-requests-per-second --help" ;;
    'stor find') options="--name --type --size --newer --older --maxdepth --exec --delete -n,--dry-run -y,--yes -0,--print0 --include+ --exclude+ --exclude-from --glob --literal $_cloud_shared" ;;
    'stor tree') options="-L,--maxdepth --glob --literal $_cloud_shared" ;;
    'stor du') options="-d,--depth -h,--human --include+ --exclude+ --exclude-from --glob --literal -o,--output -j,--json --jq --columns --sort -H,--no-header -l,--long --color --no-input --no-pager -q,--quiet -v,--verbose+ --curl --profile --account --user --role --key-id --key-file --url --stor-url --api-version --ca --insecure --timeout --max-time --retries --max-requests-per-second --help" ;;
    'stor stat') options="--glob --literal --paths-from $_cloud_shared" ;;
    'stor cat') options="--glob --literal --paths-from --range --bwlimit $_cloud_shared" ;;
    'stor get') options="-r,--recursive --continue --no-clobber -n,--dry-run -T,--no-target-directory -p,--parents --modes --sparse --tar --with-headers --glob --literal --paths-from --include+ --exclude+ --exclude-from -P,--parallel --bwlimit --part-size --progress --progress-interval --no-progress $_cloud_shared" ;;
    'stor put') options="-r,--recursive -p,--parents --type -m,--meta+ --header+ --copies --modes --if-match --if-modified-since --no-clobber -T,--no-target-directory -n,--dry-run --max-size --growing --untar --links --backup-dir --link-known --include+ --exclude+ --exclude-from --without-headers -P,--parallel --bwlimit --part-size --progress --progress-interval --no-progress $_cloud_shared" ;;
    'stor mkdir') options="-p,--parents $_cloud_shared" ;;
    'stor rm') options="--glob --paths-from -f,--missing-ok -r,--recursive -y,--yes -n,--dry-run --include+ --exclude+ --exclude-from -P,--parallel $_cloud_shared" ;;
    'stor cp') options="-r,--recursive --glob --literal --no-clobber -p,--parents --copy -n,--dry-run -T,--no-target-directory --paths-from -P,--parallel --bwlimit --part-size --progress --progress-interval --no-progress --include+ --exclude+ --exclude-from --type --modes $_cloud_shared" ;;
    'stor mv') options="--glob --no-clobber -p,--parents --copy -n,--dry-run -T,--no-target-directory --paths-from -P,--parallel --bwlimit --part-size --progress --progress-interval --no-progress $_cloud_shared" ;;
    'stor ln') options="-p,--parents --no-clobber $_cloud_shared" ;;
    'stor meta') commands='get set unset replace' aliases='get=show get=list' options="$_cloud_shared" ;;
    'stor meta get') options="$_cloud_shared" ;;
    'stor meta set') options="--type --header+ $_cloud_shared" ;;
    'stor meta unset') options="$_cloud_shared" ;;
    'stor meta replace') options="--type --header+ $_cloud_shared" ;;
    'stor sync') options="--delete -y,--yes --max-delete --allow-empty-source -n,--dry-run --plan -w,--watch --watch-interval --backup-dir --link-known --with-headers --without-headers --checksum --size-only --headers --links --include+ --exclude+ --exclude-from --copies --modes --sparse --reset-headers --copy -P,--parallel --bwlimit --part-size --progress --progress-interval --no-progress $_cloud_shared" ;;
    'stor diff') options="--checksum --size-only --headers --links --include+ --exclude+ --exclude-from --exit-code $_cloud_shared" ;;
    'stor snapshot') commands='create list diff restore delete prune' aliases='list=ls delete=rm' options="$_cloud_shared" ;;
    'stor snapshot create') options="--copy -P,--parallel --bwlimit --part-size --progress --progress-interval --no-progress $_cloud_shared" ;;
    'stor snapshot list') options="$_cloud_shared" ;;
    'stor snapshot diff') options="--include+ --exclude+ --exclude-from $_cloud_shared" ;;
    'stor snapshot restore') options="--to --delete -y,--yes --max-delete -n,--dry-run --copy --include+ --exclude+ --exclude-from -P,--parallel --bwlimit --part-size --progress --progress-interval --no-progress $_cloud_shared" ;;
    'stor snapshot delete') options="-y,--yes -n,--dry-run -P,--parallel $_cloud_shared" ;;
    'stor snapshot prune') options="--keep --older -y,--yes -n,--dry-run -P,--parallel $_cloud_shared" ;;
    'stor sign') options="--expires --method+ --glob --literal --paths-from $_cloud_shared" ;;
    'stor roles') commands='get set add remove' aliases='get=show' options="$_cloud_shared" ;;
    'stor roles get') options="$_cloud_shared" ;;
    'stor roles set') options="-r,--recursive -n,--dry-run $_cloud_shared" ;;
    'stor roles add') options="-r,--recursive -n,--dry-run $_cloud_shared" ;;
    'stor roles remove') options="-r,--recursive -n,--dry-run $_cloud_shared" ;;
    'stor run') options="-y,--yes --stop-on-error --links --copies --modes --sparse --reset-headers --copy -P,--parallel --bwlimit --part-size --progress --progress-interval --no-progress $_cloud_shared" ;;
    'mpu') commands='create upload put-part parts get commit abort list' aliases='create=add get=show abort=delete abort=rm list=ls' options="$_cloud_shared" ;;
    'mpu create') options="--type -m,--meta+ --header+ --copies $_cloud_shared" ;;
    'mpu upload') options="-p,--parents --type -m,--meta+ --header+ --copies -P,--parallel --bwlimit --part-size --progress --progress-interval --no-progress $_cloud_shared" ;;
    'mpu put-part') options="--bwlimit $_cloud_shared" ;;
    'mpu parts') options="$_cloud_shared" ;;
    'mpu get') options="$_cloud_shared" ;;
    'mpu commit') options="$_cloud_shared" ;;
    'mpu abort') options="-y,--yes -n,--dry-run $_cloud_shared" ;;
    'mpu list') options="$_cloud_shared" ;;
    'jobs') commands='run list get create add end cancel wait watch inputs outputs failures errors' aliases='list=ls get=show' options="$_cloud_shared" ;;
    'jobs run') options="--name --map+ --reduce+ --count+ --asset+ --init+ --memory+ --disk+ --from --glob --literal -d,--detach --wait-timeout $_cloud_shared" ;;
    'jobs list') options="--state --name $_cloud_shared" ;;
    'jobs get') options="$_cloud_shared" ;;
    'jobs create') options="--name --map+ --reduce+ --count+ --asset+ --init+ --memory+ --disk+ --from $_cloud_shared" ;;
    'jobs add') options="--end --glob --literal $_cloud_shared" ;;
    'jobs end') options="-n,--dry-run $_cloud_shared" ;;
    'jobs cancel') options="-n,--dry-run -w,--wait --wait-timeout $_cloud_shared" ;;
    'jobs wait') options="--wait-timeout $_cloud_shared" ;;
    'jobs watch') options="--wait-timeout $_cloud_shared" ;;
    'jobs inputs') options="-f,--follow $_cloud_shared" ;;
    'jobs outputs') options="-f,--follow --cat $_cloud_shared" ;;
    'jobs failures') options="-f,--follow $_cloud_shared" ;;
    'jobs errors') options="-f,--follow --stderr $_cloud_shared" ;;
    'resume') options="--all --list --drop $_cloud_shared" ;;
    'ping') options="$_cloud_shared" ;;
    'api') commands='call sign' options="-f,--field+ -F,--json-field+ --input --header+ --service -i,--include --paginate $_cloud_shared" ;;
    'api call') options="-f,--field+ -F,--json-field+ --input --header+ --service -i,--include --paginate $_cloud_shared" ;;
    'api sign') options="--method+ --expires --service $_cloud_shared" ;;
    'url') commands='explain' options="$_cloud_shared" ;;
    'url explain') options="--method --service --compare --expect $_cloud_shared" ;;
    'profile') commands='list get create edit use delete import' aliases='list=ls get=show create=add delete=rm' options="$_cloud_shared" ;;
    'profile list') options="$_cloud_shared" ;;
    'profile get') options="--explain $_cloud_shared" ;;
    'profile create') options="--stor-key-id --allow-http --stor-ecdsa --sign-window --default-output --default-columns --default-parallel --no-test --use --force $_cloud_shared" ;;
    'profile edit') options="--stor-key-id --allow-http --stor-ecdsa --sign-window --default-output --default-columns --default-parallel --unset $_cloud_shared" ;;
    'profile use') options="$_cloud_shared" ;;
    'profile delete') options="-y,--yes -n,--dry-run $_cloud_shared" ;;
    'profile import') options="--force $_cloud_shared" ;;
    'env') options="--shell $_cloud_shared" ;;
    'local') commands='start stop status run serve try logs seed reset snapshot fork clock faults requests record' options="$_cloud_shared" ;;
    'local start') options="--data --compute-port --stor-port --http --host --allow-jobs --isolation --job-slots --job-time-limit --public-key --empty --datacenter --peer+ --limits --limit+ --add-account+ --attestation-authority --staleness --throttle --latency --fault --replay $_cloud_shared" ;;
    'local stop') options="--data $_cloud_shared" ;;
    'local status') options="--data $_cloud_shared" ;;
    'local run') options="--http --isolation --job-slots --job-time-limit --public-key --empty --datacenter --peer+ --limits --limit+ --add-account+ --attestation-authority --staleness --throttle --latency --fault --replay --snapshot --data --fixtures --log $_cloud_shared" ;;
    'local serve') options="--data --compute-port --stor-port --http --host --allow-jobs --isolation --job-slots --job-time-limit --public-key --empty --datacenter --peer+ --limits --limit+ --add-account+ --attestation-authority --staleness --throttle --latency --fault --replay $_cloud_shared" ;;
    'local try') options="$_cloud_shared" ;;
    'local logs') options="--data $_cloud_shared" ;;
    'local seed') options="--data $_cloud_shared" ;;
    'local reset') options="--data -y,--yes $_cloud_shared" ;;
    'local snapshot') commands='create list restore delete' options="$_cloud_shared" ;;
    'local snapshot create') options="--data $_cloud_shared" ;;
    'local snapshot list') options="--data $_cloud_shared" ;;
    'local snapshot restore') options="--data $_cloud_shared" ;;
    'local snapshot delete') options="--data $_cloud_shared" ;;
    'local fork') options="--data --compute-port --stor-port --http --host --allow-jobs --isolation --job-slots --job-time-limit --public-key --empty --datacenter --peer+ --limits --limit+ --add-account+ --attestation-authority --staleness --throttle --latency --fault --snapshot --to $_cloud_shared" ;;
    'local clock') options="--data --behind $_cloud_shared" ;;
    'local faults') commands='list add clear' options="$_cloud_shared" ;;
    'local faults list') options="--data $_cloud_shared" ;;
    'local faults add') options="--data --path --from-account --count --rate --seed $_cloud_shared" ;;
    'local faults clear') options="--data $_cloud_shared" ;;
    'local requests') options="--data --failed -f,--follow $_cloud_shared" ;;
    'local record') options="--body-limit $_cloud_shared" ;;
    'server') commands='gateway worker migrate collect status audit apply diff import accounts' aliases='accounts=account' options="$_cloud_shared" ;;
    'server gateway') options="--database --database-file --bytes --bytes-credentials --compute-port --stor-port --host --tls-cert --tls-key --tls-dir --http --admin-port --admin-host --public-url --stor-public-url --proxy-protocol-from --drain-wait --drain-timeout --datacenter --limit+ --allow-jobs --work-dir --no-jobs --isolation --job-slots --job-time-limit --keep-garbage --no-collect $_cloud_shared" ;;
    'server worker') options="--database --database-file --bytes --bytes-credentials --work-dir --slots --account-tasks --limit+ --isolation --require-isolation --time-limit --admin-port --admin-host --drain-timeout --stor-public-url $_cloud_shared" ;;
    'server migrate') options="--database --database-file $_cloud_shared" ;;
    'server collect') options="--database --database-file --bytes --bytes-credentials --keep-garbage --take-over -n,--dry-run --verify --checksum $_cloud_shared" ;;
    'server status') options="--database --database-file -w,--watch --watch-interval $_cloud_shared" ;;
    'server audit') options="--database --database-file --account --since -f,--follow -o,--output -j,--json --jq --columns --sort -H,--no-header -l,--long --color --no-input --no-pager -q,--quiet -v,--verbose+ --curl --profile --user --role --key-id --key-file --url --stor-url --api-version --ca --insecure --timeout --max-time --retries --max-requests-per-second -h,--help" ;;
    'server apply') options="--database --database-file --bytes --bytes-credentials --prune -n,--dry-run -y,--yes $_cloud_shared" ;;
    'server diff') options="--database --database-file --prune --exit-code $_cloud_shared" ;;
    'server import') options="--database --database-file --bytes --bytes-credentials --from $_cloud_shared" ;;
    'server accounts') commands='list create limit disable enable delete' aliases='list=ls delete=rm' options="$_cloud_shared" ;;
    'server accounts list') options="--database --database-file $_cloud_shared" ;;
    'server accounts create') options="--database --database-file --email --public-key $_cloud_shared" ;;
    'server accounts limit') options="--database --database-file --bytes --objects --requests $_cloud_shared" ;;
    'server accounts disable') options="--database --database-file $_cloud_shared" ;;
    'server accounts enable') options="--database --database-file $_cloud_shared" ;;
    'server accounts delete') options="--database --database-file -y,--yes $_cloud_shared" ;;
    'conformance') options="--area --check+ --read-only --machine --import-image $_cloud_shared" ;;
    'doctor') options="--clear-cache $_cloud_shared" ;;
    'version') options="$_cloud_shared" ;;
    'alias') commands='list set delete' aliases='list=ls set=create set=add delete=rm' options="$_cloud_shared" ;;
    'alias list') options="$_cloud_shared" ;;
    'alias set') options="$_cloud_shared" ;;
    'alias delete') options="$_cloud_shared" ;;
    'completion') commands='bash zsh fish' options="$_cloud_shared" ;;
    'completion bash') options="--install --uninstall $_cloud_shared" ;;
    'completion zsh') options="--install --uninstall $_cloud_shared" ;;
    'completion fish') options="--install --uninstall $_cloud_shared" ;;
    'help') commands='account keys users roles policies rbac images packages datacenters services stor mpu jobs resume ping api url profile env local server conformance doctor version alias completion help signing policy-language scripting job-tools local-service testing cluster exit-codes files options transfer compare filters names engines tasks' aliases='account=accounts keys=key users=user roles=role policies=policy images=image packages=package datacenters=datacenter services=service stor=storage mpu=uploads jobs=job profile=profiles alias=aliases' options="$_cloud_shared" ;;
    'help topic') options="$_cloud_shared" ;;
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
    'account update/--from') kind=file ;;
    'account limits/--dc') kind=datacenter ;;
    'account config set/--default-network') kind=text ;;
    'keys list/--dc') kind=datacenter ;;
    'keys get/--dc') kind=datacenter ;;
    'keys create/--name') kind=text ;;
    'keys create/--attestation') kind=file ;;
    'keys rotate/--name') kind=text ;;
    'keys rotate/--type') kind=words choices='rsa ecdsa' ;;
    'users list/--dc') kind=datacenter ;;
    'users create/--email') kind=text ;;
    'users create/--company-name') kind=text ;;
    'users create/--first-name') kind=text ;;
    'users create/--last-name') kind=text ;;
    'users create/--address') kind=text ;;
    'users create/--postal-code') kind=text ;;
    'users create/--city') kind=text ;;
    'users create/--state') kind=text ;;
    'users create/--country') kind=text ;;
    'users create/--phone') kind=text ;;
    'users create/--from') kind=file ;;
    'users create/--password-file') kind=file ;;
    'users create/--wait-timeout') kind=text ;;
    'users update/--login') kind=text ;;
    'users update/--email') kind=text ;;
    'users update/--company-name') kind=text ;;
    'users update/--first-name') kind=text ;;
    'users update/--last-name') kind=text ;;
    'users update/--address') kind=text ;;
    'users update/--postal-code') kind=text ;;
    'users update/--city') kind=text ;;
    'users update/--state') kind=text ;;
    'users update/--country') kind=text ;;
    'users update/--phone') kind=text ;;
    'users update/--from') kind=file ;;
    'users update/--wait-timeout') kind=text ;;
    'users password/--password-file') kind=file ;;
    'users delete/--wait-timeout') kind=text ;;
    'users keys create/--name') kind=text ;;
    'users keys create/--attestation') kind=file ;;
    'roles list/--dc') kind=datacenter ;;
    'roles get/--dc') kind=datacenter ;;
    'roles create/--member') kind=user ;;
    'roles create/--default-member') kind=user ;;
    'roles create/--policy') kind=policy ;;
    'roles create/--from') kind=file ;;
    'roles create/--wait-timeout') kind=text ;;
    'roles update/--name') kind=text ;;
    'roles update/--add-member') kind=user ;;
    'roles update/--add-default-member') kind=user ;;
    'roles update/--remove-member') kind=user ;;
    'roles update/--add-policy') kind=policy ;;
    'roles update/--remove-policy') kind=policy ;;
    'roles update/--from') kind=file ;;
    'roles update/--wait-timeout') kind=text ;;
    'roles edit/--wait-timeout') kind=text ;;
    'roles delete/--wait-timeout') kind=text ;;
    'policies list/--dc') kind=datacenter ;;
    'policies get/--dc') kind=datacenter ;;
    'policies create/--rule') kind=rule ;;
    'policies create/--description') kind=text ;;
    'policies create/--from') kind=file ;;
    'policies create/--wait-timeout') kind=text ;;
    'policies update/--name') kind=text ;;
    'policies update/--description') kind=text ;;
    'policies update/--rule') kind=rule ;;
    'policies update/--add-rule') kind=rule ;;
    'policies update/--remove-rule') kind=rule ;;
    'policies update/--from') kind=file ;;
    'policies update/--wait-timeout') kind=text ;;
    'policies edit/--wait-timeout') kind=text ;;
    'policies delete/--wait-timeout') kind=text ;;
    'policies simulate/--with-role') kind=role ;;
    'policies simulate/--at') kind=text ;;
    'policies simulate/--source') kind=text ;;
    'policies simulate/--datacenter') kind=datacenter ;;
    'policies simulate/--from') kind=file ;;
    'policies simulate/--expect') kind=words choices='allow deny' ;;
    'policies who-can/--at') kind=text ;;
    'policies who-can/--source') kind=text ;;
    'policies who-can/--datacenter') kind=datacenter ;;
    'policies who-can/--from') kind=file ;;
    'rbac export/--tree') kind=text ;;
    'rbac apply/--wait-timeout') kind=text ;;
    'rbac impact/--delete-role') kind=role ;;
    'rbac impact/--at') kind=text ;;
    'rbac impact/--source') kind=text ;;
    'rbac impact/--datacenter') kind=datacenter ;;
    'rbac graph/-o'|'rbac graph/--output') kind=words choices='dot mermaid json yaml' ;;
    'images list/--name') kind=text ;;
    'images list/--os') kind=text ;;
    'images list/--version') kind=text ;;
    'images list/--state') kind=words choices='active unactivated disabled creating failed all' ;;
    'images list/--owner') kind=text ;;
    'images list/--type') kind=text ;;
    'images list/--dc') kind=datacenter ;;
    'images get/--dc') kind=datacenter ;;
    'images create/--description') kind=text ;;
    'images create/--homepage') kind=text ;;
    'images create/--eula') kind=text ;;
    'images create/--tag') kind=text ;;
    'images create/--from') kind=file ;;
    'images create/--acl') kind=text ;;
    'images create/--wait-timeout') kind=text ;;
    'images pipeline/--description') kind=text ;;
    'images pipeline/--homepage') kind=text ;;
    'images pipeline/--eula') kind=text ;;
    'images pipeline/--tag') kind=text ;;
    'images pipeline/--to') kind=datacenter ;;
    'images pipeline/--from') kind=datacenter ;;
    'images pipeline/--path') kind=path ;;
    'images pipeline/--wait-timeout') kind=text ;;
    'images promote/--to') kind=datacenter ;;
    'images promote/--from') kind=datacenter ;;
    'images update/--name') kind=text ;;
    'images update/--version') kind=text ;;
    'images update/--description') kind=text ;;
    'images update/--homepage') kind=text ;;
    'images update/--eula') kind=text ;;
    'images update/--tag') kind=text ;;
    'images update/--from') kind=file ;;
    'images update/--acl') kind=text ;;
    'images wait/--state') kind=words choices='active unactivated disabled creating failed' ;;
    'images wait/--wait-timeout') kind=text ;;
    'packages list/--name') kind=text ;;
    'packages list/--version') kind=text ;;
    'packages list/--group') kind=text ;;
    'packages list/--memory') kind=text ;;
    'packages list/--disk') kind=text ;;
    'packages list/--swap') kind=text ;;
    'packages list/--lwps') kind=text ;;
    'packages list/--vcpus') kind=text ;;
    'packages list/--brand') kind=text ;;
    'packages list/--dc') kind=datacenter ;;
    'packages get/--dc') kind=datacenter ;;
    'services list/--dc') kind=datacenter ;;
    'services get/--dc') kind=datacenter ;;
    'stor ls/--paths-from') kind=file ;;
    'stor find/--name') kind=text ;;
    'stor find/--type') kind=words choices='object directory f d' ;;
    'stor find/--size') kind=text ;;
    'stor find/--newer') kind=text ;;
    'stor find/--older') kind=text ;;
    'stor find/--maxdepth') kind=text ;;
    'stor find/--exec') kind=text ;;
    'stor find/--include') kind=text ;;
    'stor find/--exclude') kind=text ;;
    'stor find/--exclude-from') kind=file ;;
    'stor tree/-L'|'stor tree/--maxdepth') kind=text ;;
    'stor du/-d'|'stor du/--depth') kind=text ;;
    'stor du/--include') kind=text ;;
    'stor du/--exclude') kind=text ;;
    'stor du/--exclude-from') kind=file ;;
    'stor stat/--paths-from') kind=file ;;
    'stor cat/--paths-from') kind=file ;;
    'stor cat/--range') kind=text ;;
    'stor cat/--bwlimit') kind=text ;;
    'stor get/--paths-from') kind=file ;;
    'stor get/--include') kind=text ;;
    'stor get/--exclude') kind=text ;;
    'stor get/--exclude-from') kind=file ;;
    'stor get/-P'|'stor get/--parallel') kind=text ;;
    'stor get/--bwlimit') kind=text ;;
    'stor get/--part-size') kind=text ;;
    'stor get/--progress') kind=words choices='bar plain none' ;;
    'stor get/--progress-interval') kind=text ;;
    'stor put/--type') kind=text ;;
    'stor put/-m'|'stor put/--meta') kind=text ;;
    'stor put/--header') kind=text ;;
    'stor put/--copies') kind=text ;;
    'stor put/--if-match') kind=text ;;
    'stor put/--if-modified-since') kind=text ;;
    'stor put/--max-size') kind=text ;;
    'stor put/--links') kind=words choices='follow skip' ;;
    'stor put/--backup-dir') kind=file-or-path ;;
    'stor put/--include') kind=text ;;
    'stor put/--exclude') kind=text ;;
    'stor put/--exclude-from') kind=file ;;
    'stor put/-P'|'stor put/--parallel') kind=text ;;
    'stor put/--bwlimit') kind=text ;;
    'stor put/--part-size') kind=text ;;
    'stor put/--progress') kind=words choices='bar plain none' ;;
    'stor put/--progress-interval') kind=text ;;
    'stor rm/--paths-from') kind=file ;;
    'stor rm/--include') kind=text ;;
    'stor rm/--exclude') kind=text ;;
    'stor rm/--exclude-from') kind=file ;;
    'stor rm/-P'|'stor rm/--parallel') kind=text ;;
    'stor cp/--paths-from') kind=file ;;
    'stor cp/-P'|'stor cp/--parallel') kind=text ;;
    'stor cp/--bwlimit') kind=text ;;
    'stor cp/--part-size') kind=text ;;
    'stor cp/--progress') kind=words choices='bar plain none' ;;
    'stor cp/--progress-interval') kind=text ;;
    'stor cp/--include') kind=text ;;
    'stor cp/--exclude') kind=text ;;
    'stor cp/--exclude-from') kind=file ;;
    'stor cp/--type') kind=text ;;
    'stor mv/--paths-from') kind=file ;;
    'stor mv/-P'|'stor mv/--parallel') kind=text ;;
    'stor mv/--bwlimit') kind=text ;;
    'stor mv/--part-size') kind=text ;;
    'stor mv/--progress') kind=words choices='bar plain none' ;;
    'stor mv/--progress-interval') kind=text ;;
    'stor meta set/--type') kind=text ;;
    'stor meta set/--header') kind=text ;;
    'stor meta replace/--type') kind=text ;;
    'stor meta replace/--header') kind=text ;;
    'stor sync/--max-delete') kind=text ;;
    'stor sync/--plan') kind=file ;;
    'stor sync/--watch-interval') kind=text ;;
    'stor sync/--backup-dir') kind=file-or-path ;;
    'stor sync/--links') kind=words choices='follow skip' ;;
    'stor sync/--include') kind=text ;;
    'stor sync/--exclude') kind=text ;;
    'stor sync/--exclude-from') kind=file ;;
    'stor sync/--copies') kind=text ;;
    'stor sync/-P'|'stor sync/--parallel') kind=text ;;
    'stor sync/--bwlimit') kind=text ;;
    'stor sync/--part-size') kind=text ;;
    'stor sync/--progress') kind=words choices='bar plain none' ;;
    'stor sync/--progress-interval') kind=text ;;
    'stor diff/--links') kind=words choices='follow skip' ;;
    'stor diff/--include') kind=text ;;
    'stor diff/--exclude') kind=text ;;
    'stor diff/--exclude-from') kind=file ;;
    'stor snapshot create/-P'|'stor snapshot create/--parallel') kind=text ;;
    'stor snapshot create/--bwlimit') kind=text ;;
    'stor snapshot create/--part-size') kind=text ;;
    'stor snapshot create/--progress') kind=words choices='bar plain none' ;;
    'stor snapshot create/--progress-interval') kind=text ;;
    'stor snapshot diff/--include') kind=text ;;
    'stor snapshot diff/--exclude') kind=text ;;
    'stor snapshot diff/--exclude-from') kind=file ;;
    'stor snapshot restore/--to') kind=path ;;
    'stor snapshot restore/--max-delete') kind=text ;;
    'stor snapshot restore/--include') kind=text ;;
    'stor snapshot restore/--exclude') kind=text ;;
    'stor snapshot restore/--exclude-from') kind=file ;;
    'stor snapshot restore/-P'|'stor snapshot restore/--parallel') kind=text ;;
    'stor snapshot restore/--bwlimit') kind=text ;;
    'stor snapshot restore/--part-size') kind=text ;;
    'stor snapshot restore/--progress') kind=words choices='bar plain none' ;;
    'stor snapshot restore/--progress-interval') kind=text ;;
    'stor snapshot delete/-P'|'stor snapshot delete/--parallel') kind=text ;;
    'stor snapshot prune/--keep') kind=text ;;
    'stor snapshot prune/--older') kind=text ;;
    'stor snapshot prune/-P'|'stor snapshot prune/--parallel') kind=text ;;
    'stor sign/--expires') kind=text ;;
    'stor sign/--method') kind=text ;;
    'stor sign/--paths-from') kind=file ;;
    'stor run/--links') kind=words choices='follow skip' ;;
    'stor run/--copies') kind=text ;;
    'stor run/-P'|'stor run/--parallel') kind=text ;;
    'stor run/--bwlimit') kind=text ;;
    'stor run/--part-size') kind=text ;;
    'stor run/--progress') kind=words choices='bar plain none' ;;
    'stor run/--progress-interval') kind=text ;;
    'mpu create/--type') kind=text ;;
    'mpu create/-m'|'mpu create/--meta') kind=text ;;
    'mpu create/--header') kind=text ;;
    'mpu create/--copies') kind=text ;;
    'mpu upload/--type') kind=text ;;
    'mpu upload/-m'|'mpu upload/--meta') kind=text ;;
    'mpu upload/--header') kind=text ;;
    'mpu upload/--copies') kind=text ;;
    'mpu upload/-P'|'mpu upload/--parallel') kind=text ;;
    'mpu upload/--bwlimit') kind=text ;;
    'mpu upload/--part-size') kind=text ;;
    'mpu upload/--progress') kind=words choices='bar plain none' ;;
    'mpu upload/--progress-interval') kind=text ;;
    'mpu put-part/--bwlimit') kind=text ;;
    'jobs run/--name') kind=text ;;
    'jobs run/--map') kind=text ;;
    'jobs run/--reduce') kind=text ;;
    'jobs run/--count') kind=text ;;
    'jobs run/--asset') kind=path ;;
    'jobs run/--init') kind=text ;;
    'jobs run/--memory') kind=text ;;
    'jobs run/--disk') kind=text ;;
    'jobs run/--from') kind=file ;;
    'jobs run/--wait-timeout') kind=text ;;
    'jobs list/--state') kind=words choices='running live queued done' ;;
    'jobs list/--name') kind=text ;;
    'jobs create/--name') kind=text ;;
    'jobs create/--map') kind=text ;;
    'jobs create/--reduce') kind=text ;;
    'jobs create/--count') kind=text ;;
    'jobs create/--asset') kind=path ;;
    'jobs create/--init') kind=text ;;
    'jobs create/--memory') kind=text ;;
    'jobs create/--disk') kind=text ;;
    'jobs create/--from') kind=file ;;
    'jobs cancel/--wait-timeout') kind=text ;;
    'jobs wait/--wait-timeout') kind=text ;;
    'jobs watch/--wait-timeout') kind=text ;;
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
    'api sign/--method') kind=text ;;
    'api sign/--expires') kind=text ;;
    'api sign/--service') kind=words choices='compute stor' ;;
    'url explain/--method') kind=text ;;
    'url explain/--service') kind=words choices='compute stor' ;;
    'url explain/--compare') kind=file ;;
    'url explain/--expect') kind=words choices='valid refused' ;;
    'profile create/--stor-key-id') kind=text ;;
    'profile create/--sign-window') kind=text ;;
    'profile create/--default-output') kind=words choices='table json jsonl yaml csv tsv name' ;;
    'profile create/--default-columns') kind=text ;;
    'profile create/--default-parallel') kind=text ;;
    'profile edit/--stor-key-id') kind=text ;;
    'profile edit/--sign-window') kind=text ;;
    'profile edit/--default-output') kind=words choices='table json jsonl yaml csv tsv name' ;;
    'profile edit/--default-columns') kind=text ;;
    'profile edit/--default-parallel') kind=text ;;
    'profile edit/--unset') kind=text ;;
    'env/--shell') kind=words choices='sh bash zsh fish' ;;
    'local start/--data') kind=directory ;;
    'local start/--compute-port') kind=text ;;
    'local start/--stor-port') kind=text ;;
    'local start/--host') kind=text ;;
    'local start/--isolation') kind=words choices='bubblewrap namespaces none' ;;
    'local start/--job-slots') kind=text ;;
    'local start/--job-time-limit') kind=text ;;
    'local start/--public-key') kind=file ;;
    'local start/--datacenter') kind=text ;;
    'local start/--peer') kind=text ;;
    'local start/--limit') kind=text ;;
    'local start/--add-account') kind=text ;;
    'local start/--attestation-authority') kind=file ;;
    'local start/--staleness') kind=text ;;
    'local start/--throttle') kind=text ;;
    'local start/--latency') kind=text ;;
    'local start/--fault') kind=text ;;
    'local start/--replay') kind=file ;;
    'local stop/--data') kind=directory ;;
    'local status/--data') kind=directory ;;
    'local run/--isolation') kind=words choices='bubblewrap namespaces none' ;;
    'local run/--job-slots') kind=text ;;
    'local run/--job-time-limit') kind=text ;;
    'local run/--public-key') kind=file ;;
    'local run/--datacenter') kind=text ;;
    'local run/--peer') kind=text ;;
    'local run/--limit') kind=text ;;
    'local run/--add-account') kind=text ;;
    'local run/--attestation-authority') kind=file ;;
    'local run/--staleness') kind=text ;;
    'local run/--throttle') kind=text ;;
    'local run/--latency') kind=text ;;
    'local run/--fault') kind=text ;;
    'local run/--replay') kind=file ;;
    'local run/--snapshot') kind=snapshot ;;
    'local run/--data') kind=directory ;;
    'local run/--fixtures') kind=file ;;
    'local run/--log') kind=file ;;
    'local serve/--data') kind=directory ;;
    'local serve/--compute-port') kind=text ;;
    'local serve/--stor-port') kind=text ;;
    'local serve/--host') kind=text ;;
    'local serve/--isolation') kind=words choices='bubblewrap namespaces none' ;;
    'local serve/--job-slots') kind=text ;;
    'local serve/--job-time-limit') kind=text ;;
    'local serve/--public-key') kind=file ;;
    'local serve/--datacenter') kind=text ;;
    'local serve/--peer') kind=text ;;
    'local serve/--limit') kind=text ;;
    'local serve/--add-account') kind=text ;;
    'local serve/--attestation-authority') kind=file ;;
    'local serve/--staleness') kind=text ;;
    'local serve/--throttle') kind=text ;;
    'local serve/--latency') kind=text ;;
    'local serve/--fault') kind=text ;;
    'local serve/--replay') kind=file ;;
    'local logs/--data') kind=directory ;;
    'local seed/--data') kind=directory ;;
    'local reset/--data') kind=directory ;;
    'local snapshot create/--data') kind=directory ;;
    'local snapshot list/--data') kind=directory ;;
    'local snapshot restore/--data') kind=directory ;;
    'local snapshot delete/--data') kind=directory ;;
    'local fork/--data') kind=directory ;;
    'local fork/--compute-port') kind=text ;;
    'local fork/--stor-port') kind=text ;;
    'local fork/--host') kind=text ;;
    'local fork/--isolation') kind=words choices='bubblewrap namespaces none' ;;
    'local fork/--job-slots') kind=text ;;
    'local fork/--job-time-limit') kind=text ;;
    'local fork/--public-key') kind=file ;;
    'local fork/--datacenter') kind=text ;;
    'local fork/--peer') kind=text ;;
    'local fork/--limit') kind=text ;;
    'local fork/--add-account') kind=text ;;
    'local fork/--attestation-authority') kind=file ;;
    'local fork/--staleness') kind=text ;;
    'local fork/--throttle') kind=text ;;
    'local fork/--latency') kind=text ;;
    'local fork/--fault') kind=text ;;
    'local fork/--snapshot') kind=snapshot ;;
    'local fork/--to') kind=directory ;;
    'local clock/--data') kind=directory ;;
    'local faults list/--data') kind=directory ;;
    'local faults add/--data') kind=directory ;;
    'local faults add/--path') kind=text ;;
    'local faults add/--from-account') kind=text ;;
    'local faults add/--count') kind=text ;;
    'local faults add/--rate') kind=text ;;
    'local faults add/--seed') kind=text ;;
    'local faults clear/--data') kind=directory ;;
    'local requests/--data') kind=directory ;;
    'local record/--body-limit') kind=text ;;
    'server gateway/--database') kind=text ;;
    'server gateway/--database-file') kind=file ;;
    'server gateway/--bytes') kind=text ;;
    'server gateway/--bytes-credentials') kind=file ;;
    'server gateway/--compute-port') kind=text ;;
    'server gateway/--stor-port') kind=text ;;
    'server gateway/--host') kind=text ;;
    'server gateway/--tls-cert') kind=file ;;
    'server gateway/--tls-key') kind=file ;;
    'server gateway/--tls-dir') kind=directory ;;
    'server gateway/--admin-port') kind=text ;;
    'server gateway/--admin-host') kind=text ;;
    'server gateway/--public-url') kind=text ;;
    'server gateway/--stor-public-url') kind=text ;;
    'server gateway/--proxy-protocol-from') kind=text ;;
    'server gateway/--drain-wait') kind=text ;;
    'server gateway/--drain-timeout') kind=text ;;
    'server gateway/--datacenter') kind=text ;;
    'server gateway/--limit') kind=text ;;
    'server gateway/--work-dir') kind=directory ;;
    'server gateway/--isolation') kind=words choices='bubblewrap namespaces none' ;;
    'server gateway/--job-slots') kind=text ;;
    'server gateway/--job-time-limit') kind=text ;;
    'server gateway/--keep-garbage') kind=text ;;
    'server worker/--database') kind=text ;;
    'server worker/--database-file') kind=file ;;
    'server worker/--bytes') kind=text ;;
    'server worker/--bytes-credentials') kind=file ;;
    'server worker/--work-dir') kind=directory ;;
    'server worker/--slots') kind=text ;;
    'server worker/--account-tasks') kind=text ;;
    'server worker/--limit') kind=text ;;
    'server worker/--isolation') kind=words choices='bubblewrap namespaces none' ;;
    'server worker/--time-limit') kind=text ;;
    'server worker/--admin-port') kind=text ;;
    'server worker/--admin-host') kind=text ;;
    'server worker/--drain-timeout') kind=text ;;
    'server worker/--stor-public-url') kind=text ;;
    'server migrate/--database') kind=text ;;
    'server migrate/--database-file') kind=file ;;
    'server collect/--database') kind=text ;;
    'server collect/--database-file') kind=file ;;
    'server collect/--bytes') kind=text ;;
    'server collect/--bytes-credentials') kind=file ;;
    'server collect/--keep-garbage') kind=text ;;
    'server status/--database') kind=text ;;
    'server status/--database-file') kind=file ;;
    'server status/--watch-interval') kind=text ;;
    'server audit/--database') kind=text ;;
    'server audit/--database-file') kind=file ;;
    'server audit/--account') kind=text ;;
    'server audit/--since') kind=text ;;
    'server apply/--database') kind=text ;;
    'server apply/--database-file') kind=file ;;
    'server apply/--bytes') kind=text ;;
    'server apply/--bytes-credentials') kind=file ;;
    'server diff/--database') kind=text ;;
    'server diff/--database-file') kind=file ;;
    'server import/--database') kind=text ;;
    'server import/--database-file') kind=file ;;
    'server import/--bytes') kind=text ;;
    'server import/--bytes-credentials') kind=file ;;
    'server import/--from') kind=directory ;;
    'server accounts list/--database') kind=text ;;
    'server accounts list/--database-file') kind=file ;;
    'server accounts create/--database') kind=text ;;
    'server accounts create/--database-file') kind=file ;;
    'server accounts create/--email') kind=text ;;
    'server accounts create/--public-key') kind=file ;;
    'server accounts limit/--database') kind=text ;;
    'server accounts limit/--database-file') kind=file ;;
    'server accounts limit/--bytes') kind=text ;;
    'server accounts limit/--objects') kind=text ;;
    'server accounts limit/--requests') kind=text ;;
    'server accounts disable/--database') kind=text ;;
    'server accounts disable/--database-file') kind=file ;;
    'server accounts enable/--database') kind=text ;;
    'server accounts enable/--database-file') kind=file ;;
    'server accounts delete/--database') kind=text ;;
    'server accounts delete/--database-file') kind=file ;;
    'conformance/--area') kind=words choices='storage jobs compute' ;;
    'conformance/--check') kind=text ;;
    'conformance/--machine') kind=text ;;
    'conformance/--import-image') kind=text ;;
    */-o|*/--output) kind=words choices='table json jsonl yaml csv tsv name' ;;
    */--jq) kind=text ;;
    */--columns) kind=field-list ;;
    */--sort) kind=field-list ;;
    */--color) kind=words choices='auto always never' ;;
    */--profile) kind=profile ;;
    */--account) kind=text ;;
    */--user) kind=user ;;
    */--role) kind=role-list ;;
    */--key-id) kind=text ;;
    */--key-file) kind=file ;;
    */--url) kind=text ;;
    */--stor-url) kind=text ;;
    */--api-version) kind=text ;;
    */--ca) kind=file ;;
    */--timeout) kind=text ;;
    */--max-time) kind=text ;;
    */--retries) kind=text ;;
    */--max-requests-per-second) kind=text ;;
    *) return 1 ;;
  esac
}

# What argument number $2 of command $1 is.
_cloud_argument() {
  case "$1/$2" in
    '/0') kind=alias ;;
    'keys get/'*) kind=key ;;
    'keys create/0') kind=file ;;
    'keys delete/'*) kind=key ;;
    'users get/0') kind=user ;;
    'users create/0') kind=text ;;
    'users update/0') kind=user ;;
    'users password/0') kind=user ;;
    'users delete/'*) kind=user ;;
    'users keys list/0') kind=user ;;
    'users keys get/0') kind=user ;;
    'users keys get/1') kind=user-key ;;
    'users keys create/0') kind=user ;;
    'users keys create/1') kind=file ;;
    'users keys delete/0') kind=user ;;
    'users keys delete/'*) kind=user-key ;;
    'roles get/'*) kind=role ;;
    'roles create/0') kind=text ;;
    'roles update/0') kind=role ;;
    'roles edit/0') kind=role ;;
    'roles delete/'*) kind=role ;;
    'roles tags get/0') kind=resource ;;
    'roles tags set/0') kind=resource ;;
    'roles tags set/'*) kind=role ;;
    'roles tags add/0') kind=resource ;;
    'roles tags add/'*) kind=role ;;
    'roles tags remove/0') kind=resource ;;
    'roles tags remove/'*) kind=role ;;
    'policies get/'*) kind=policy ;;
    'policies create/0') kind=text ;;
    'policies update/0') kind=policy ;;
    'policies edit/0') kind=policy ;;
    'policies delete/'*) kind=policy ;;
    'policies check/0') kind=file ;;
    'policies simulate/0') kind=user ;;
    'policies simulate/1') kind=action ;;
    'policies simulate/2') kind=resource ;;
    'policies who-can/0') kind=action ;;
    'policies who-can/1') kind=resource ;;
    'rbac diff/0') kind=file ;;
    'rbac apply/0') kind=file ;;
    'rbac impact/0') kind=file ;;
    'rbac graph/0') kind=file ;;
    'images get/'*) kind=image ;;
    'images create/0') kind=text ;;
    'images create/1') kind=text ;;
    'images create/2') kind=text ;;
    'images import/0') kind=datacenter ;;
    'images import/1') kind=text ;;
    'images export/0') kind=image ;;
    'images export/1') kind=path ;;
    'images clone/0') kind=image ;;
    'images pipeline/0') kind=text ;;
    'images pipeline/1') kind=text ;;
    'images pipeline/2') kind=text ;;
    'images promote/0') kind=image ;;
    'images update/0') kind=image ;;
    'images share/0') kind=image ;;
    'images share/'*) kind=text ;;
    'images unshare/0') kind=image ;;
    'images unshare/'*) kind=text ;;
    'images tags get/0') kind=image ;;
    'images tags set/0') kind=image ;;
    'images tags set/'*) kind=text ;;
    'images tags unset/0') kind=image ;;
    'images tags unset/'*) kind=text ;;
    'images wait/'*) kind=image ;;
    'images delete/'*) kind=image ;;
    'packages get/'*) kind=package ;;
    'datacenters get/'*) kind=datacenter ;;
    'services get/'*) kind=service ;;
    'stor ls/'*) kind=path ;;
    'stor find/'*) kind=path ;;
    'stor tree/'*) kind=path ;;
    'stor du/'*) kind=path ;;
    'stor stat/'*) kind=path ;;
    'stor cat/'*) kind=path ;;
    'stor get/'*) kind=path ;;
    'stor put/'*) kind=file-or-path ;;
    'stor mkdir/'*) kind=path ;;
    'stor rm/'*) kind=path ;;
    'stor cp/'*) kind=file-or-path ;;
    'stor mv/'*) kind=path ;;
    'stor ln/0') kind=path ;;
    'stor ln/1') kind=path ;;
    'stor meta get/0') kind=path ;;
    'stor meta get/'*) kind=text ;;
    'stor meta set/0') kind=path ;;
    'stor meta set/'*) kind=text ;;
    'stor meta unset/0') kind=path ;;
    'stor meta unset/'*) kind=text ;;
    'stor meta replace/0') kind=path ;;
    'stor meta replace/'*) kind=text ;;
    'stor sync/0') kind=file-or-path ;;
    'stor sync/1') kind=file-or-path ;;
    'stor diff/0') kind=file-or-path ;;
    'stor diff/1') kind=file-or-path ;;
    'stor snapshot create/0') kind=path ;;
    'stor snapshot list/0') kind=path ;;
    'stor snapshot diff/0') kind=path ;;
    'stor snapshot diff/1') kind=path ;;
    'stor snapshot restore/0') kind=path ;;
    'stor snapshot delete/'*) kind=path ;;
    'stor snapshot prune/0') kind=path ;;
    'stor sign/'*) kind=path ;;
    'stor roles get/0') kind=path ;;
    'stor roles set/0') kind=path ;;
    'stor roles set/'*) kind=role ;;
    'stor roles add/0') kind=path ;;
    'stor roles add/'*) kind=role ;;
    'stor roles remove/0') kind=path ;;
    'stor roles remove/'*) kind=role ;;
    'stor run/0') kind=file ;;
    'mpu create/0') kind=path ;;
    'mpu upload/0') kind=file ;;
    'mpu upload/1') kind=path ;;
    'mpu put-part/0') kind=upload ;;
    'mpu put-part/1') kind=text ;;
    'mpu put-part/2') kind=file ;;
    'mpu parts/0') kind=upload ;;
    'mpu get/0') kind=upload ;;
    'mpu commit/0') kind=upload ;;
    'mpu commit/'*) kind=text ;;
    'mpu abort/'*) kind=upload ;;
    'jobs run/'*) kind=path ;;
    'jobs get/'*) kind=job ;;
    'jobs add/0') kind=job ;;
    'jobs add/'*) kind=path ;;
    'jobs end/'*) kind=job ;;
    'jobs cancel/'*) kind=job ;;
    'jobs wait/'*) kind=job ;;
    'jobs watch/0') kind=job ;;
    'jobs inputs/0') kind=job ;;
    'jobs outputs/0') kind=job ;;
    'jobs failures/0') kind=job ;;
    'jobs errors/0') kind=job ;;
    'resume/'*) kind=unfinished ;;
    'api/0') kind=api ;;
    'api/1') kind=api ;;
    'api call/0') kind=api ;;
    'api call/1') kind=api ;;
    'api sign/0') kind=api ;;
    'url explain/0') kind=text ;;
    'profile get/0') kind=profile ;;
    'profile create/0') kind=text ;;
    'profile edit/0') kind=profile ;;
    'profile use/0') kind=profile ;;
    'profile delete/'*) kind=profile ;;
    'profile import/'*) kind=text ;;
    'env/0') kind=profile ;;
    'local run/'*) kind=text ;;
    'local seed/0') kind=file ;;
    'local snapshot create/0') kind=text ;;
    'local snapshot restore/0') kind=snapshot ;;
    'local snapshot delete/0') kind=snapshot ;;
    'local clock/0') kind=words choices='set advance skew reset' ;;
    'local clock/1') kind=text ;;
    'local faults add/0') kind=action ;;
    'local faults add/1') kind=failure ;;
    'local faults clear/'*) kind=text ;;
    'local record/0') kind=file ;;
    'local record/'*) kind=text ;;
    'server apply/0') kind=file ;;
    'server diff/0') kind=file ;;
    'server accounts create/0') kind=text ;;
    'server accounts limit/0') kind=text ;;
    'server accounts disable/0') kind=text ;;
    'server accounts enable/0') kind=text ;;
    'server accounts delete/0') kind=text ;;
    'alias set/0') kind=text ;;
    'alias set/1') kind=text ;;
    'alias delete/'*) kind=alias ;;
    *) return 1 ;;
  esac
}

# Sets plain to what the shell makes of $1, and quote to the quotation mark that is open at its end.
_cloud_unquote() {
  local at letter
  plain='' quote=''
  for ((at = 0; at < ${#1}; at++)); do
    letter=${1:at:1}
    if [[ -n $quote && $letter == "$quote" ]]; then
      quote=''
    elif [[ -z $quote && $letter == [\'\"] ]]; then
      quote=$letter
    elif [[ $quote != \' && $letter == \\ ]]; then
      ((at += 1))
      [[ $quote != \" || ${1:at:1} == [\\\$\`\"] ]] || plain+=\\
      plain+=${1:at:1}
    else
      plain+=$letter
    fi
  done
}

# Sets quoted to text $1 as it must stand where quotation mark $quote is open, or none is.
_cloud_quote() {
  local at letter
  quoted=''
  for ((at = 0; at < ${#1}; at++)); do
    letter=${1:at:1}
    case $quote$letter in
      \'\') quoted+="'\\''" ;;
      # At the end of a quotation it is no expansion of the history.
      \"!) if ((at + 1 < ${#1})); then quoted+='"\!"'; else quoted+=!; fi ;;
      \"[\\\$\`\"]) quoted+=\\$letter ;;
      [\'\"]?) quoted+=$letter ;;
      [[:alnum:]_./:=@%+,-]) quoted+=$letter ;;
      # Only the tilde of ~~/ stays: any other at the beginning would be a home folder.
      \~) ((at == 0)) && [[ -z $head && $1 != \~\~* ]] && quoted+=\\
        quoted+=$letter ;;
      *) quoted+=\\$letter ;;
    esac
  done
}

# Offers what the program knows of source $1: it is asked for what begins as typed.
_cloud_ask() {
  local i value plain quote quoted head='' missing=${prefix#"$kept"} before=()
  for ((i = 1; i < last; i++)); do
    _cloud_unquote "${words[i]}"
    before+=("$plain")
  done
  _cloud_unquote "${typed#"$prefix"}"
  local wanted=$plain
  # What readline keeps of the word is not offered again.
  ((${#kept} < ${#prefix})) || missing='' head=${kept#"$prefix"}
  _cloud_unquote "$head"
  head=$plain
  while IFS= read -r value; do
    value=${value%%$'\t'*}
    _cloud_quote "${value#"$head"}"
    COMPREPLY+=("$missing$quoted")
  done < <(command cloud __complete "$1" "$wanted" ${before[@]+"${before[@]}"} 2>/dev/null </dev/null)
  if ((${#COMPREPLY[@]} != 1)); then
    # Of paths only the last part is listed.
    [[ $1 != path ]] || compopt -o filenames -o noquote 2>/dev/null
  elif [[ ${COMPREPLY[0]} == */ ]]; then
    compopt -o nospace 2>/dev/null
  elif [[ -n $quote && ${COMPREPLY[0]} == *"$quote" ]]; then
    # readline would take the mark that ends the name for the one that closes the quotation.
    COMPREPLY[0]+=$quote
  fi
}

# Files, and paths of the object storage where they are meant or no file begins as typed.
_cloud_ask_beside_files() {
  local plain quote
  _cloud_unquote "$typed"
  if [[ $plain == stor:* || $plain == [!/]*/stor:* || $plain == \~\~* ]]; then
    _cloud_ask path
  elif ((count > 0)) && [[ -n $plain && -z $(compgen -f -- "$plain") ]]; then
    _cloud_ask path
  else
    compopt -o default 2>/dev/null
  fi
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

# Sets config to the folder of profiles and aliases; without HOME, to one that cannot exist.
_cloud_config() {
  config=${XDG_CONFIG_HOME:-}
  [[ $config == /* ]] || config=${HOME:-/dev/null}/.config
  if [[ ${CLOUD_HOME:-} == /* ]]; then config=$CLOUD_HOME/config; else config+=/cloud; fi
}

_cloud_offer_value() {
  local word config
  case $kind in
    words) for word in $choices; do _cloud_offer "$word"; done ;;
    file) compopt -o default 2>/dev/null ;;
    directory) compopt -o dirnames 2>/dev/null ;;
    profile)
      _cloud_config
      for word in "$config"/profiles/*.json; do
        word=${word##*/}
        [[ $word == '*.json' ]] || _cloud_offer "${word%.json}"
      done
      ;;
    alias)
      _cloud_config
      [[ ! -e $config/aliases.json ]] || _cloud_ask alias
      ;;
    text) ;;
    file-or-path) _cloud_ask_beside_files ;;
    *) _cloud_ask "$kind" ;;
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
