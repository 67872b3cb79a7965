/** Where Debian's package puts it, which is not on the PATH of users. */
export const haproxy = '/usr/sbin/haproxy';
